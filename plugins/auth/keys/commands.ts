import type { Command } from '../../../core/host/command.ts';

export const keyCommands: readonly Command<never>[] = [];
