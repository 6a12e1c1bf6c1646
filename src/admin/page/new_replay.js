// Asking for a replay: what it would do is counted before anything is changed.

import { freshKey, get, post, Problem } from './api.js';
import { columns } from './deliveries.js';
import { h } from './dom.js';
import { selected, selectionOf } from './filter.js';
import { count, counted, span } from './format.js';
import { icon } from './icon.js';
import { live } from './live.js';
import { chip, foreign, heading, loading, nothing, problemBox, table } from './parts.js';
import { obstacles } from './needs.js';
import { patch } from './patch.js';
import { to } from './route.js';

/** @param {import('./main.js').Visit} visit */
export function newReplay({ main, query, operator, signal }) {
  if (!operator) {
    main.append(heading('New replay'), nothing('Only an operator can ask for a replay; this token is a viewer’s.'));
    return;
  }
  if (query.has('missing') && !query.has('destination')) {
    chooseDestination(main, query, signal);
    return;
  }
  const selection = selectionOf(query);
  const again = query.has('missing') ? '' : ' again';
  const key = freshKey();
  const [found, refused] = [h('div', { class: 'found', 'aria-live': 'polite' }), h('div', { role: 'alert' })];
  const start = h('button', { type: 'submit', class: 'main', disabled: true }, 'Replay');
  let runs = 0;
  let requeued = 0;
  const dryRun = async () => {
    const mine = ++runs;
    start.disabled = true;
    patch(found, loading());
    const [drawn, number] = await post('/replays', { ...selection, ...optionsOf(form), dry_run: true })
      .then((told) => [counts(told, again), told.requeued], (error) => [problemBox(asProblem(error)), 0]);
    if (mine !== runs || signal.aborted) return;
    requeued = number;
    patch(found, drawn);
    start.disabled = requeued === 0;
    start.textContent = requeued > 0 ? `Replay ${counted(requeued, 'delivery', 'deliveries')}` : 'Nothing to replay';
  };
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    start.disabled = true;
    patch(refused, null);
    try {
      const reason = String(new FormData(form).get('reason'));
      const made = await post('/replays', { ...selection, ...optionsOf(form), reason }, key);
      location.replace(to(['replays', made.id], { of: requeued }));
    } catch (error) {
      patch(refused, problemBox(asProblem(error)));
      start.disabled = false;
    }
  };
  const changed = (/** @type {Event} */ event) => {
    if (/** @type {HTMLInputElement} */ (event.target).name !== 'reason') void dryRun();
  };
  const form = h('form', { class: 'replay', onsubmit: submit, onchange: changed }, options(), refused, h('div', { class: 'actions' }, h('button', { type: 'button', onclick: goBack }, 'Leave it'), start));
  const before = h('div', { role: 'status' });
  main.append(heading('New replay'), h('p', null, `Makes due${again}: `, foreign(selected(selection)), '.'),
    h('section', { 'aria-label': 'Dry run' }, h('h2', null, 'What it would do'), found), before, form);
  void dryRun();
  void warn(before, query, signal);
}

/**
 * Says what keeps the destination from taking anything: what is made due before that is mended waits, or dies again.
 * @param {HTMLElement} region
 * @param {URLSearchParams} query
 * @param {AbortSignal} signal
 */
async function warn(region, query, signal) {
  const named = new Set(query.getAll('id').map((id) => id.slice(id.indexOf(':') + 1)));
  const destination = query.get('destination') ?? (named.size === 1 ? [...named][0] : null);
  const status = await get('/status', signal).catch(() => null);
  const found = status && !signal.aborted && obstacles(status, destination, { then: false });
  if (found) patch(region, [h('p', null, 'Mend this first, or what is made due waits for it and may die again:'), found]);
}

/**
 * Rows are missing at one destination, which somebody has to choose.
 * @param {HTMLElement} main
 * @param {URLSearchParams} query
 * @param {AbortSignal} signal
 */
function chooseDestination(main, query, signal) {
  const region = h('div');
  main.append(heading('New replay'), region);
  const chosen = (/** @type {string} */ destination) => to(['replays', 'new'], new URLSearchParams([...query, ['destination', destination]]));
  live(region, signal, () => get('/status', signal), ({ destinations }) => [
    h('p', null, 'Which destination is to get the rows that it never had?'),
    h('ul', null, destinations.filter((/** @type {any} */ one) => one.configured).map((/** @type {any} */ { name }) =>
      h('li', { 'data-key': name }, h('a', { href: chosen(name) }, foreign(name))))),
  ]);
}

function options() {
  const choice = (/** @type {string} */ value, /** @type {boolean} */ checked, /** @type {string} */ title, /** @type {string} */ words) =>
    h('label', { class: 'choice' }, h('input', { type: 'radio', name: 'key', value, checked }), h('span', null, h('strong', null, title), ' ', words));
  return [
    h('fieldset', null, h('legend', null, 'Idempotency key'),
      choice('same', true, 'The same.', 'A receiver that has done it already does nothing; a CRM sets the same fields once more.'),
      choice('new', false, 'A new one.', 'A receiver that has done it already does it again: only if that is what you want.')),
    h('label', { class: 'choice' }, h('input', { type: 'checkbox', name: 'force' }),
      h('span', null, h('strong', null, 'Send overtaken versions too.'), ' An older version then overwrites a newer one at the receiver.')),
    h('label', { class: 'field' }, h('span', null, 'At most so many a second ', h('small', null, '(empty: as fast as the limits of the destination allow)')),
      h('input', { name: 'rate', type: 'number', min: 1, step: 1, inputmode: 'numeric' })),
    h('label', { class: 'field' }, h('span', null, 'Reason, for the audit'), h('input', { name: 'reason', required: true, maxlength: 1000, autocomplete: 'off' })),
  ];
}

/** @param {HTMLFormElement} form */
function optionsOf(form) {
  const given = new FormData(form);
  const rate = Number(given.get('rate'));
  return { key: given.get('key'), force: given.has('force'), ...(rate > 0 && { rate }) };
}

/**
 * @param {any} told
 * @param {string} again Nothing where they were never due.
 */
function counts(told, again) {
  const states = Object.entries(told.by_state ?? {});
  return [
    h('p', { class: 'counts' }, h('strong', null, counted(told.requeued, 'delivery', 'deliveries')), ` would be due${again}, of `, count(told.matched), ' that match.',
      told.seconds > 1 && ` That takes about ${span(told.seconds)}.`),
    told.requeued > 0 && told.by_state?.delivered > 0 && arrived(told),
    told.left_alone > 0 && h('p', null, `Owed already, and left alone: ${count(told.left_alone)}.`),
    told.in_flight > 0 && h('p', null, `On the wire now, and left alone: ${count(told.in_flight)}.`),
    told.skipped > 0 && h('p', null, `Overtaken by a newer version, and left out: ${count(told.skipped)}.`),
    states.length > 0 && h('p', null, states.map(([state, number]) => [chip(state, `${count(Number(number))} ${state}`), ' '])),
    told.sample?.length > 0 && h('details', null, h('summary', null, `The first ${told.sample.length}`), table('Sample', told.sample[0].state ? columns([]) : columns([]).slice(1, 3), told.sample, (row) => `${row.outbox_id} ${row.destination}`)),
  ];
}

/**
 * The warning that some have been delivered before.
 * @param {any} told
 */
function arrived({ by_state: { delivered }, skipped }) {
  const again = delivered === 1 ? 'it is sent again' : 'they are sent again';
  const but = skipped > 0 ? ', but for those that a newer version has overtaken' : '';
  return h('p', { class: 'notice warn' }, icon('uncertain'), h('span', null, `${count(delivered)} of these arrived already; ${again}${but}.`));
}

/** To where one came from; from an address that was opened by itself, to where replays begin. */
function goBack() {
  if (history.length > 1) history.back();
  else location.hash = to(['trouble']);
}

/** @param {unknown} error */
function asProblem(error) {
  if (error instanceof Problem) return error;
  throw error;
}
