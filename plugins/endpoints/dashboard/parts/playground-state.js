/** The content of the playground: the form, and for each model its answers. Sends the turns. */
import { useEffect, useRef, useState } from './html.js';
import { ask } from './api.js';
import { choices, firstChoice } from './callable.js';
import { isClicked } from './compare-run.js';
import { takeKept } from './playground-kept.js';
import { historyOf, isAnswered, resultsOf, runTurn } from './playground-lanes.js';
import { formIn } from './playground-link.js';
import { askedOf, beforeOf, emptyForm, fieldsOf, formOf, lossOf, mostCompared, settingsOf, whyNot } from './playground-request.js';

/** @typedef {import('./playground-lanes.js').Turn} Turn */

/** Marks the present entry of the history: its address has filled the form. */
const mark = () => history.replaceState({ ...history.state, isFilled: true }, '');

const { kept, isSignedOut } = takeKept();
// the sign-in made a new entry, whose address must not fill the form again
if (isSignedOut) mark();

/**
 * Kept while the dashboard is open, so that people can look at another page and come back. `results`: of tool calls, by their id.
 * `filled`: the part of the address that filled the form last.
 */
let draft = {
  lanes: /** @type {Turn[][]} */ ([[]]),
  key: '',
  results: /** @type {Record<string, string>} */ ({}),
  filled: '',
  ...kept,
  // an earlier version of the page may have kept it, whose form had fewer fields
  form: { ...emptyForm, ...kept?.form },
};

/** The present content of the playground for another document, in which no answer runs on: a message without its answer is in the form. */
export function draftToKeep() {
  const { form, lanes, filled } = draft;
  const last = lanes[0]?.at(-1);
  const isLost = form.user === '' && form.images.length === 0 && last !== undefined && !isAnswered(last);
  const asked = isLost ? { ...form, ...fieldsOf(last.asked.at(-1)) } : form;
  return { form: asked, lanes: lanes.map((turns) => turns.filter(isAnswered)), filled };
}

/** @typedef {typeof draft} Draft */

/** Whether a provider of a model can do what the form asks for. */
const isAble = ({ providers }, { effort, budget, tools, images }) =>
  providers.some(
    (can) =>
      (can.reasons || (['', 'none'].includes(effort) && budget === '')) &&
      (can.tools || tools === '') &&
      (can.vision || images.length === 0),
  );

const ableFirst = (a, b) => Number(b.isAble) - Number(a.isAble) || b.requests - a.requests;

/**
 * The models that are used most, beside the one that is chosen; first those that can do what the form asks for.
 * @param {any} models @param {import('./playground-request.js').Form} form
 */
export function othersOf(models, form) {
  const [chosen = ''] = form.models;
  const known = new Map(models.data.map((model) => [model.id, { isAble: isAble(model, form), requests: model.use?.requests ?? 0 }]));
  return choices(models, chosen)
    .filter((name) => name !== chosen && known.has(name))
    .sort((a, b) => ableFirst(known.get(a), known.get(b)))
    .slice(0, mostCompared - 1);
}

/** The form that sends a logged request again, and what the request loses by that. @param {string} id */
async function loggedForm(id) {
  const record = await ask(`/api/logs/${encodeURIComponent(id)}`);
  const why = whyNot(record);
  if (why !== null) throw new Error(`This request cannot be sent again. ${why}`);
  return { form: formOf(record.request, record.metadata), loss: lossOf(record) };
}

/**
 * The draft, filled from the address: `replay` is the id of a logged request, `model` a name, `compare` adds two other models,
 * and a form may be behind the `#`. `isFilled`: the draft has what the address names. `isDue`: the draft is sent without another click.
 * @param {URLSearchParams} params @param {any} models
 */
function useDraft(params, models) {
  const [state, setState] = useState(draft);
  const [note, setNote] = useState(/** @type {string | null} */ (null));
  draft = state;
  const change = (/** @type {(before: Draft) => Partial<Draft>} */ changes) =>
    setState((before) => (draft = { ...before, ...changes(before) }));
  const replay = params.get('replay');
  const model = params.get('model');
  const { hash } = location;
  // `#main` is the link "Skip to the page": it is not a form, and its entry of the history has no mark
  const isPast = hash === '#main';
  const source = replay ?? model ?? (isPast ? '' : hash);
  // an address fills the form once: a person who comes back finds the draft as it was, with its answers
  const isFilled = source === '' || (state.filled === source && (isPast || history.state?.isFilled));
  const isCompared = params.has('compare');
  const [isDue, setDue] = useState(false);
  const isWaiting = isCompared && models === null;
  useEffect(() => {
    if (isWaiting || isFilled) return undefined;
    let isWanted = true;
    const filled = (/** @type {Partial<Draft>} */ changes, said = null) => {
      mark();
      change(() => ({ ...changes, filled: source }));
      setNote(said);
    };
    const fill = async () => {
      const { form, loss = null } = replay === null ? { form: await formIn(hash) } : await loggedForm(replay);
      // the reader may have left, and have written something else
      if (!isWanted) return;
      filled({ form: isCompared ? { ...form, models: [...form.models.slice(0, 1), ...othersOf(models, form)] } : form, lanes: [[]] }, loss);
      // the note about what the request loses must be read before it is sent
      setDue(isCompared && replay !== null && isClicked(replay) && loss === null);
    };
    if (replay === null && model !== null) filled({ form: { ...draft.form, models: [model] } });
    else fill().catch(({ message }) => isWanted && filled({}, message));
    return () => void (isWanted = false);
  }, [source, isWaiting]);
  return { ...state, change, note, isFilled, isDue, setDue };
}

/** The bytes of a text in UTF-8, one character for each byte, as `fetch` takes header values. @param {string} text */
const asBytes = (text) => String.fromCharCode(...new TextEncoder().encode(text));

/** @param {Record<string, string>} metadata @param {string} key */
const headersOf = (metadata, key) => ({
  ...Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-gateway-${name}`, asBytes(value)])),
  ...(key !== '' && { authorization: `Bearer ${key}` }),
});

/** What a draft says about its lanes: their turns, and what comes next in each. @param {Draft} draft */
function lanesOf({ form, lanes, results }) {
  const asked = askedOf(form);
  const turnsOf = (at) => lanes[at] ?? [];
  const callResultsOf = (at) => resultsOf(turnsOf(at), results);
  const hasTurns = lanes.some((turns) => turns.length > 0);
  return {
    turnsOf,
    callResultsOf,
    nextOf: (at) => [...callResultsOf(at), ...(asked === null ? [] : [asked])],
    hasTurns,
    isRunning: lanes.some((turns) => turns.some((turn) => turn.isRunning)),
    isAsking: asked !== null,
    isEmpty: asked === null && (form.earlier.length === 0 || hasTurns),
  };
}

/**
 * Runs turns, and stops them. The turns end when the page is left.
 * @param {{
 *   isRunning: boolean,
 *   requestOf: (at: number, turns: Turn[], more: any[]) => { body: any, headers: Record<string, string> },
 *   told: (at: number, turns: Turn[]) => void,
 * }} lanes `told` gets the turns of a lane whenever its newest one changes
 */
function useRuns({ isRunning, requestOf, told }) {
  const running = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => () => running.current?.abort('It ended when you left this page.'), []);
  /** Asks these models at once; `of` gives the turns before, and the messages of the new turn. */
  const run = (places, of) => {
    // one controller for all lanes that run at one time, because a lane may get its tool results while another one still answers
    if (!isRunning || running.current?.signal.aborted !== false) running.current = new AbortController();
    const { signal } = running.current;
    for (const at of places) {
      const { turns, more } = of(at);
      const { body, headers } = requestOf(at, turns, more);
      void runTurn(body, more, { headers, signal, tell: (turn) => told(at, [...turns, turn]) });
    }
  };
  return { run, stop: () => running.current?.abort('You stopped it here.') };
}

/** @param {URLSearchParams} params @param {{ data: any, loading: boolean }} asked the answer of `/api/models` */
export function usePlayground(params, { data: models, loading }) {
  const present = useDraft(params, models);
  const { form, lanes, key, results, change, note, isFilled, isDue, setDue } = present;
  const { turnsOf, callResultsOf, nextOf, hasTurns, isRunning, isAsking, isEmpty } = lanesOf(present);
  const chosen = form.models.map((name, at) => (name === '' && at === 0 ? firstChoice(models) : name));
  const { settings, metadata, problem } = settingsOf(form);
  // where nobody chose a model, the list of models says which one is asked
  const isKnown = isFilled && (form.models[0] !== '' || !loading);
  const maySend = problem === null && !isRunning && !isEmpty && isKnown;
  const set = (changes) =>
    change((before) => ({ form: { ...before.form, ...(typeof changes === 'function' ? changes(before.form) : changes) } }));
  /** Takes a model away with its turns. */
  const leaveOut = (at) =>
    change((before) => ({ form: { ...before.form, models: chosen.toSpliced(at, 1) }, lanes: before.lanes.toSpliced(at, 1) }));

  const bodyOf = (at, turns, more) => ({ model: chosen[at], messages: [...beforeOf(form), ...historyOf(turns), ...more], ...settings });
  const { run, stop } = useRuns({
    isRunning,
    requestOf: (at, turns, more) => ({ body: bodyOf(at, turns, more), headers: headersOf(metadata, key) }),
    told: (at, turns) => change((before) => ({ lanes: chosen.map((_, lane) => (lane === at ? turns : (before.lanes[lane] ?? []))) })),
  });
  const all = chosen.map((_, at) => at);
  const send = () => {
    if (!maySend) return;
    run(all, (at) => ({ turns: turnsOf(at), more: nextOf(at) }));
    set({ user: '', images: [] });
  };
  useEffect(() => {
    if (!isDue) return;
    setDue(false);
    send();
  }, [isDue]);
  // a lane that has no turns yet is asked what the first one was asked
  const again = () => run(all, (at) => ({ turns: turnsOf(at).slice(0, -1), more: (turnsOf(at).at(-1) ?? turnsOf(0).at(-1))?.asked ?? [] }));
  const startOver = () => {
    const begun = lanes.flat()[0]?.asked.at(-1);
    change(() => ({ lanes: [[]] }));
    if (!isAsking) set(fieldsOf(begun) ?? {});
  };
  const sendResults = (at) => run([at], () => ({ turns: turnsOf(at), more: callResultsOf(at) }));
  const actions = { change, set, leaveOut, send, again, startOver, sendResults, stop };
  const state = { key, results, note, metadata, problem, isRunning, hasTurns, isKnown, maySend, turnsOf };
  return { ...state, ...actions, form: { ...form, models: chosen }, body: bodyOf(0, turnsOf(0), nextOf(0)) };
}
