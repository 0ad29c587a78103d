import type { Store, StoreSettings } from './store.ts';

/** Opens nothing yet. The driver of PostgreSQL is loaded where it is used, and only there. */
export async function createStore(settings: StoreSettings): Promise<Store> {
  if (settings.store === 'postgres') return (await import('./postgres.ts')).createPostgresStore(settings);
  return (await import('./sqlite.ts')).createSqliteStore(settings);
}
