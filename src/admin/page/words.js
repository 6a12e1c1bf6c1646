// The words of the API, in sentences that somebody who is woken up understands.

/** What a reason means. */
export const REASONS = /** @type {Record<string, string>} */ ({
  accepted: 'the receiver took it',
  confirmed: 'a person has seen that it arrived',
  refused: 'the receiver refused it for good',
  stored_failure: 'the receiver keeps giving back a failure that it stored under this key',
  attempts_exhausted: 'it was tried as often as is allowed',
  age_exhausted: 'it was owed for as long as is allowed',
  not_canonical: 'its payload has no canonical form, so it has no key',
  not_renderable: 'the configuration can make no request of this row',
  outcome_unknown: 'an attempt may have arrived, and the policy is to hold',
  window_passed: 'an attempt may have arrived, and the receiver may have forgotten the key',
  newer_version: 'a newer version of the row took its place',
  operator: 'an operator ended it',
});

/** What an attempt met, unless its status says more. */
const OUTCOMES = /** @type {Record<string, string>} */ ({
  accepted: 'The receiver took it',
  throttled: 'The receiver asked to wait',
  refused: 'The receiver refused it',
  unreachable: 'No connection: nothing was sent',
  unknown: 'No certain answer: it may have arrived',
});

/**
 * What an attempt met: refused credentials are about no row, and a server that failed has refused nothing.
 * @param {string} outcome
 * @param {number | null} status
 */
export function met(outcome, status) {
  if (status === 401 && (outcome === 'throttled' || outcome === 'refused')) return 'The credentials were refused';
  if (outcome === 'refused' && status !== null && status >= 500) return 'The receiver failed';
  return OUTCOMES[outcome] ?? outcome;
}

/**
 * The status with which a row was not accepted: an answer to several can be a good one, and refuse some of them.
 * @param {number} status
 */
export function answered(status) {
  return status < 300 ? `HTTP ${status} to the request, which refused this row within it` : `HTTP ${status}`;
}

/** The states of a delivery. */
export const STATES = ['pending', 'delivered', 'dead', 'uncertain', 'superseded', 'cancelled'];

/**
 * The reason in a sentence, or the word itself where this page does not know it.
 * @param {string | null} reason
 */
export function because(reason) {
  return reason === null ? '' : (REASONS[reason] ?? reason.replaceAll('_', ' '));
}
