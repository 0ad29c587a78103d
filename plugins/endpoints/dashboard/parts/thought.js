/**
 * The thinking in a message: `reasoning_fields` of the config says under which of the two names, or that it comes under both.
 * @param {{ reasoning?: unknown, reasoning_content?: unknown }} message @returns {string} empty where there is none
 */
export const thoughtOf = ({ reasoning, reasoning_content: content }) => [reasoning, content].find((text) => typeof text === 'string') ?? '';
