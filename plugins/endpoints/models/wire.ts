/** What the endpoints answer: the OpenAPI document is made of these types. */
import type { Mapping, Model, Pricing } from '../../../core/config.ts';

export interface ModelList {
  readonly object: 'list';
  readonly data: readonly ModelRecord[];
}

export interface ModelRecord extends Omit<
  Model,
  'architecture' | 'providers' | 'stated' | 'max_output_tokens' | 'per_request_limits' | 'deprecated_at' | 'deactivated_at'
> {
  readonly object: 'model';
  readonly owned_by: string;
  readonly canonical_slug: string;
  readonly architecture: Model['architecture'] & { readonly modality: string };
  readonly providers: readonly ModelMapping[];
  readonly per_request_limits: Readonly<Record<string, string>>;
  readonly max_output_tokens?: number;
  readonly deprecated_at?: string;
  readonly deactivated_at?: string;
}

export interface ModelMapping extends Omit<Mapping, 'dialect' | 'weight' | 'pricing' | 'reasoning'> {
  readonly pricing: Pick<Pricing, 'prompt' | 'completion' | 'image' | 'per_second' | 'tiers' | 'peak'>;
  readonly reasoning: boolean;
}

/** In the form of the Messages API, which the header `anthropic-version` asks for. */
export interface ModelPage {
  readonly data: readonly ModelInfo[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

export interface ModelInfo {
  readonly type: 'model';
  readonly id: string;
  readonly display_name: string;
  readonly created_at: string;
  readonly lifecycle: 'active' | 'deprecated' | 'retired';
  readonly deprecated_at: string | null;
  readonly retires_at: string | null;
  readonly max_input_tokens: number | null;
  readonly max_tokens: number | null;
  readonly capabilities: null;
  readonly line: null;
}
