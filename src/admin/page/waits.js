// What deliveries to a destination wait for, and what becomes of them meanwhile.

import { count, span } from './format.js';

/** What is due, and goes as fast as the limits allow. */
export const DUE_NOW = 'due now';

/**
 * What is to be said of deliveries whose time has come: a pause holds them, and what fails lets them wait.
 * @param {any} one The destination.
 */
function dueness({ name, configured, pause, failing }) {
  if (name === '' || !configured || pause) return 'held';
  return failing ? 'waiting' : DUE_NOW;
}

/**
 * What is owed to a destination, by how it stands; the numbers add up to it.
 * @param {any} one The destination.
 * @returns {[string, number][]}
 */
export function shares(one) {
  const flying = Math.min(one.in_flight, one.due);
  return [[dueness(one), one.due - flying], ['in flight', flying], ['due later', one.owed - one.due]];
}

/**
 * What deliveries to a destination wait for, if they do: it matters more than when they are due.
 * @param {any} one The destination.
 * @param {number} [many] Of how many that is said.
 */
export function waitsFor({ name, configured, pause, failing }, many = 1) {
  if (name === '') return 'held until its topic has a route';
  if (!configured) return 'held until its destination is configured';
  if (pause) return 'held until its destination is resumed';
  if (!failing) return null;
  return many === 1 ? 'waits, and goes on by itself once its receiver works' : 'wait, and go on by themselves once their receiver works';
}

/**
 * What becomes of deliveries while their destination fails. Behind an open breaker they use no attempt; without one they do.
 * @param {any} one The destination; its limits say how often it looks, where they are known.
 */
export function meanwhile({ failing, limits, owed }) {
  const [wait, go] = owed === 1 ? ['1 waits', 'goes on by itself'] : [`${count(owed)} wait`, 'go on by themselves'];
  if (owed === 0) return 'nothing is owed to it.';
  if (!failing.breaker_opened_at) return `${wait} for the next attempt, and ${go} once it works. Each failure uses up an attempt.`;
  const every = limits?.breaker_open_seconds;
  return `${wait}, and ${go} once it works. None dies of waiting, since nothing else is sent meanwhile: a single delivery looks${every ? ` every ${span(every)}` : ''} whether it is back.`;
}
