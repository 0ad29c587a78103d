/** Reads the caller's trace from W3C Trace Context headers. A malformed header is ignored, as the standard demands. */
import type { Arrived } from '../../../core/pipeline/context.ts';

/** The caller's span. */
export interface Parent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** Whether the caller records this trace. */
  readonly isSampled: boolean;
  /** The flags of `traceparent`, unchanged. */
  readonly flags: number;
  /** The header `tracestate`, unchanged; empty where there is none. */
  readonly state: string;
}

const pattern = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** The caller's span; null where the caller sent none, or a malformed one. */
export function parentOf(headers: Arrived['headers']): Parent | null {
  const sent = headers['traceparent'];
  if (sent === undefined) return null;
  const [, version = 'ff', traceId = '', spanId = '', flags = '', more] = pattern.exec(sent.trim()) ?? [];
  // later versions may have more fields at the end; version 00 may not
  if (version === 'ff' || (version === '00' && more !== undefined) || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  const state = headers['tracestate'] ?? '';
  const bits = Number.parseInt(flags, 16);
  return { traceId, spanId, isSampled: (bits & 1) === 1, flags: bits, state: /^[\x20-\x7e]{1,512}$/.test(state) ? state : '' };
}
