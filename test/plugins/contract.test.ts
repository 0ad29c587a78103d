/** Every plugin that comes with the gateway keeps to the contract. */
import { fileURLToPath } from 'node:url';
import { shippedNames } from '../../core/host/loader.ts';
import { pluginContract } from '../contract/plugin.ts';

for (const use of shippedNames(fileURLToPath(new URL('../../plugins/', import.meta.url)))) pluginContract({ use });
