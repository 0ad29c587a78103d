import type { Store, StoreSettings } from './store.ts';

/** Makes a store without opening it. The driver of PostgreSQL is loaded only where it is used. */
export async function createStore(settings: StoreSettings): Promise<Store> {
  if (settings.store === 'postgres') return (await import('./postgres.ts')).createPostgresStore(settings);
  return (await import('./sqlite.ts')).createSqliteStore(settings);
}
