/** Validators of schemas that seldom change, compiled by `npm run generate`. They say whether a value is valid and fill defaults in, and name no fault. */
export const compiled: Readonly<Record<string, ((value: unknown) => boolean) | undefined>>;
