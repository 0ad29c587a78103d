/** What generateContent refuses. */
import { isObject, isSameSet, lacking, listIn, pairs, repeated, type Rule, type Sent, unknownFields, unless } from './rule.ts';

interface Content {
  readonly role: string;
  readonly parts: readonly any[];
}

const contentsOf = ({ body }: Sent): readonly Content[] => listIn(body.contents).map(({ role, parts }) => ({ role, parts: listIn(parts) }));
const partsOf = (sent: Sent): readonly any[] => [
  ...contentsOf(sent).flatMap(({ parts }) => parts),
  ...listIn(sent.body.systemInstruction?.parts),
];
const callsIn = (content: Content | undefined): readonly any[] => (content?.parts ?? []).flatMap(({ functionCall: call }) => call ?? []);
const resultsIn = (content: Content | undefined): readonly any[] =>
  (content?.parts ?? []).flatMap(({ functionResponse: result }) => result ?? []);
const namesOf = (all: readonly any[]): readonly string[] => all.map(({ name }) => name);
const declaredIn = ({ body }: Sent): readonly any[] => listIn(body.tools).flatMap(({ functionDeclarations: list }) => listIn(list));
const configOf = ({ body }: Sent): Record<string, any> => body.generationConfig ?? {};
const thinkingOf = (sent: Sent): Record<string, any> => configOf(sent)['thinkingConfig'] ?? {};

const noPrefill = /gemini-3\.[6-9]|gemini-3\.5-flash-lite|gemini-(?:[4-9]|1\d)/;
const generation3 = /gemini-(?:[3-9]|1\d)/;
const before3 = /gemini-[12]\./;
const before25 = /gemini-(?:1|2\.0)/;

const isName = (name: unknown): boolean => typeof name === 'string' && /^[a-z_][\w.:-]{0,63}$/i.test(name);

const ofConversation: readonly Rule[] = [
  {
    rule: 'there is a turn',
    source: 'Gemini API: error text "contents is not specified"',
    offenders: (sent) => unless(contentsOf(sent).length > 0),
  },
  {
    rule: 'a role is user or model',
    source: 'Gemini API: error text "Please use a valid role: user, model."',
    offenders: (sent) => contentsOf(sent).filter(({ role }) => !['user', 'model'].includes(role)),
  },
  {
    rule: 'user and model alternate',
    source: 'Gemini API: Function calling (earendil-works/pi#471)',
    offenders: (sent) => pairs(contentsOf(sent)).filter(([one, next]) => one.role === next?.role),
  },
  {
    rule: 'the only turn is of the user',
    source:
      'Gemini API: error text "Please ensure that single turn requests end with a user role or the role field is empty" (microsoft/semantic-kernel#13262)',
    offenders: (sent) => unless(contentsOf(sent).length > 1 || contentsOf(sent)[0]?.role === 'user', contentsOf(sent)[0]),
  },
  {
    rule: 'the last turn is of the user',
    source:
      'Gemini API: Using the latest Gemini models, "Prefilling model turns is no longer supported" (from 3.6 Flash and 3.5 Flash-Lite on)',
    offenders: (sent) => unless(!noPrefill.test(sent.model) || contentsOf(sent).at(-1)?.role === 'user', contentsOf(sent).at(-1)),
  },
  {
    rule: 'each turn has parts',
    source: 'Gemini API: error text "must include at least one parts field"',
    offenders: (sent) => contentsOf(sent).filter(({ parts }) => parts.length === 0),
  },
  {
    rule: 'each part has one kind of content',
    source: 'Gemini API: Part, Union field data',
    offenders: (sent) =>
      partsOf(sent).filter(
        (part) => ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'].filter((field) => field in part).length !== 1,
      ),
  },
  {
    rule: 'no text is empty',
    source: 'Gemini API: error text "it has an empty text parameter" (Portkey-AI/gateway#462); a signature may stand on an empty text',
    offenders: (sent) => partsOf(sent).filter(({ text, thoughtSignature: state }) => text === '' && state === undefined),
  },
  {
    rule: 'data has a type',
    source: 'Gemini API: error text "it has an empty mimeType parameter"',
    offenders: (sent) => partsOf(sent).filter(({ inlineData: data }) => data !== undefined && !/^\w+\/[\w.+-]+$/.test(data.mimeType)),
  },
];

const ofCalls: readonly Rule[] = [
  {
    rule: 'a turn has as many results as the turn before has calls',
    source:
      'Gemini API: error text "the number of function response parts is equal to the number of function call parts of the function call turn"',
    offenders: (sent) => pairs(contentsOf(sent)).filter(([one, next]) => !isSameSet(namesOf(callsIn(one)), namesOf(resultsIn(next)))),
  },
  {
    rule: 'results follow calls',
    source: 'Gemini API: error text "function response turn comes immediately after a function call turn"',
    offenders: (sent) => resultsIn(contentsOf(sent)[0]),
  },
  {
    rule: 'calls follow the user',
    source: 'Gemini API: error text "function call turn comes immediately after a user turn"',
    offenders: (sent) => callsIn(contentsOf(sent)[0]),
  },
  {
    rule: 'the ids of results are those of the calls',
    source: 'Gemini API: generateContent, FunctionResponse.id',
    offenders: (sent) =>
      pairs(contentsOf(sent)).flatMap(([one, next]) =>
        lacking(
          callsIn(one).map(({ id }) => id),
          resultsIn(next).map(({ id }) => id),
        ),
      ),
  },
  {
    rule: 'arguments and results are objects',
    source: 'Gemini API: FunctionCall, FunctionResponse (google.protobuf.Struct)',
    offenders: (sent) => [
      ...contentsOf(sent).flatMap((content) => callsIn(content).filter(({ args }) => !isObject(args))),
      ...contentsOf(sent).flatMap((content) => resultsIn(content).filter(({ response }) => !isObject(response))),
    ],
  },
  {
    rule: 'the first call of a step has a signature',
    source: 'Gemini API: Thought signatures, Gemini 3 ("Function call is missing a thought_signature")',
    offenders: (sent) => {
      if (!generation3.test(sent.model)) return [];
      const begin = contentsOf(sent).findLastIndex((content) => content.role === 'user' && resultsIn(content).length === 0);
      return contentsOf(sent)
        .slice(begin + 1)
        .flatMap(({ parts }) => parts.filter(({ functionCall: call }) => call !== undefined).slice(0, 1))
        .filter(({ thoughtSignature: state }) => state === undefined);
    },
  },
];

const schemaFields = [
  'type',
  'format',
  'title',
  'description',
  'nullable',
  'enum',
  'items',
  'maxItems',
  'minItems',
  'properties',
  'required',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'minimum',
  'maximum',
  'example',
  'anyOf',
  'propertyOrdering',
  'default',
];

/** The faults of a schema in the subset of OpenAPI, at any depth. */
const faultsIn = (schema: unknown): readonly unknown[] => {
  if (!isObject(schema)) return [schema];
  const { type, enum: values, required, properties = {}, items, anyOf, ...rest } = schema;
  return [
    ...unknownFields(rest, schemaFields),
    ...unless(type === undefined || typeof type === 'string', type),
    ...listIn(values).filter((value) => typeof value !== 'string' || value === ''),
    ...lacking(Object.keys(properties), listIn(required)),
    ...(type === 'array' && items === undefined ? [schema] : []),
    ...Object.values(properties).flatMap(faultsIn),
    ...(items === undefined ? [] : faultsIn(items)),
    ...listIn(anyOf).flatMap(faultsIn),
  ];
};

const ofTools: readonly Rule[] = [
  {
    rule: 'the name of a function begins with a letter or _, and has at most 64 characters',
    source: 'Gemini API: error text "Invalid function name"',
    offenders: (sent) =>
      [...declaredIn(sent), ...contentsOf(sent).flatMap((one) => [...callsIn(one), ...resultsIn(one)])].filter(({ name }) => !isName(name)),
  },
  {
    rule: 'no function is declared twice',
    source: 'Gemini API: error text "Duplicate function declaration found" (google-gemini/gemini-cli#22207)',
    offenders: (sent) => repeated(namesOf(declaredIn(sent))),
  },
  {
    rule: 'a list of tools has declarations',
    source: 'Gemini API: FunctionDeclaration',
    offenders: (sent) => unless(sent.body.tools === undefined || declaredIn(sent).length > 0),
  },
  {
    rule: 'a choice has functions, and only those that are declared',
    source: 'Gemini API: FunctionCallingConfig',
    offenders: (sent) => {
      const { mode, allowedFunctionNames: allowed } = sent.body.toolConfig?.functionCallingConfig ?? {};
      if (mode === undefined) return [];
      return [
        ...unless(declaredIn(sent).length > 0, mode),
        ...unless(allowed === undefined || mode === 'ANY', mode),
        ...lacking(namesOf(declaredIn(sent)), listIn(allowed)),
      ];
    },
  },
  {
    rule: 'a schema has only words of the subset',
    source: 'Gemini API: Schema',
    offenders: (sent) =>
      [...declaredIn(sent).map(({ parameters }) => parameters), configOf(sent)['responseSchema']]
        .filter((schema) => schema !== undefined)
        .flatMap(faultsIn),
  },
  {
    rule: 'the schema of arguments is an object with properties',
    source: 'Gemini API: error text "should be non-empty for OBJECT type"',
    offenders: (sent) =>
      declaredIn(sent).filter(({ parameters }) => parameters !== undefined && Object.keys(parameters.properties ?? {}).length === 0),
  },
  {
    rule: 'one schema, and JSON Schema only where the model takes it',
    source: 'Gemini API: Structured outputs',
    offenders: (sent) =>
      declaredIn(sent).filter((one) => 'parametersJsonSchema' in one && ('parameters' in one || before25.test(sent.model))),
  },
];

const known = ['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'safetySettings', 'cachedContent', 'labels'];
const knownConfig = [
  'maxOutputTokens',
  'temperature',
  'topP',
  'topK',
  'seed',
  'candidateCount',
  'stopSequences',
  'presencePenalty',
  'frequencyPenalty',
  'responseLogprobs',
  'logprobs',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  'responseModalities',
  'thinkingConfig',
  'mediaResolution',
];

const ofParameters: readonly Rule[] = [
  {
    rule: 'no parameter is unknown',
    source: 'Gemini API: error text "Unknown name"',
    offenders: (sent) => [...unknownFields(sent.body, known), ...unknownFields(configOf(sent), knownConfig)],
  },
  {
    rule: 'one to five stop sequences, and none is empty',
    source: 'Gemini API: GenerationConfig, stopSequences (continuedev/continue#2702)',
    offenders: (sent) => {
      const { stopSequences: all } = configOf(sent);
      return unless(all === undefined || (all.length > 0 && all.length <= 5 && !all.includes('')), all);
    },
  },
  {
    rule: 'a budget or a level, not both',
    source: 'Gemini API: Thinking',
    offenders: (sent) => unless(!('thinkingBudget' in thinkingOf(sent) && 'thinkingLevel' in thinkingOf(sent)), thinkingOf(sent)),
  },
  {
    // the gateway adds no bounds to a budget of the caller, so a budget that the model does not take is refused by the provider
    rule: 'a level only from Gemini 3 on',
    source: 'Gemini API: Thinking',
    offenders: (sent) => unless(!before3.test(sent.model) || !('thinkingLevel' in thinkingOf(sent)), thinkingOf(sent)),
  },
  {
    rule: 'a model gets a level that it has',
    source: 'Gemini API: Thinking, Thinking levels',
    offenders: (sent) => {
      const { thinkingLevel: level } = thinkingOf(sent);
      const levels = ['minimal', 'low', 'medium', 'high'];
      const lacks = /3-pro/.test(sent.model) ? ['minimal', 'medium'] : /pro|3\.[78]-flash/.test(sent.model) ? ['minimal'] : [];
      return unless(level === undefined || (levels.includes(level) && !lacks.includes(level)), level);
    },
  },
  {
    rule: 'no thoughts are asked for where thinking is off',
    source: 'Gemini API: Thinking ("include_thoughts is only enabled when thinking is enabled")',
    offenders: (sent) => unless(thinkingOf(sent)['thinkingBudget'] !== 0 || thinkingOf(sent)['includeThoughts'] !== true, thinkingOf(sent)),
  },
  {
    rule: 'penalties only where the model takes them',
    source: 'Gemini API: error text "Penalty is not enabled for this model" (google-gemini/cookbook#1290)',
    offenders: (sent) =>
      (before25.test(sent.model) ? [] : ['presencePenalty', 'frequencyPenalty']).filter((field) => (configOf(sent)[field] ?? 0) !== 0),
  },
  {
    rule: 'the number of log probabilities only beside the switch',
    source: 'Gemini API: GenerationConfig, logprobs',
    offenders: (sent) => unless(!('logprobs' in configOf(sent)) || configOf(sent)['responseLogprobs'] === true),
  },
  {
    rule: 'a response type beside functions only from Gemini 3 on',
    source:
      'Gemini API: error text "Function calling with a response mime type: \'application/json\' is unsupported" (BerriAI/litellm#18621)',
    // the gateway sends JSON without a schema on purpose, so that the caller gets the refusal (docs/decisions.md)
    offenders: (sent) =>
      unless(
        !before3.test(sent.model) ||
          declaredIn(sent).length === 0 ||
          !['responseSchema', 'responseJsonSchema'].some((one) => one in configOf(sent)),
      ),
  },
];

export const geminiRules: readonly Rule[] = [...ofConversation, ...ofCalls, ...ofTools, ...ofParameters];
