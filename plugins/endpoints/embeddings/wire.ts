/** What goes over the wire of this door: the OpenAPI document is made of these types. */

/** Parameters that are not here go on to providers that take them. */
export interface EmbeddingsRequest {
  /** A model's id or alias, `provider/model`, or the name of a routing policy. */
  readonly model: string;
  /** A text, texts, tokens, or lists of tokens; at most 2,048 of them. */
  readonly input: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  /** @asType integer */
  readonly dimensions?: number | null;
  readonly encoding_format?: 'float' | 'base64' | null;
  readonly user?: string | null;
  readonly [field: string]: unknown;
}

export interface Embeddings {
  readonly object: 'list';
  /** `embedding`: numbers, or 32-bit floats as base64. */
  readonly data: readonly { readonly object: 'embedding'; readonly index: number; readonly embedding: readonly number[] | string }[];
  readonly model: string;
  /** null: the provider did not count. */
  readonly usage: { readonly prompt_tokens: number | null; readonly total_tokens: number | null };
}
