/**
 * The fields of a record, from the one table of the gateway. A browser gets this file with the table written out: see `static-files.ts`.
 */
export { pageFields as fields, timeFilters } from '../../../../core/log/filters.ts';
