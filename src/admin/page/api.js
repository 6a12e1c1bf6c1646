// The admin API: asks, and turns every refusal into a problem with words.

import { forgetToken, token } from './session.js';

/** What went wrong: a problem document (RFC 9457), or that nobody answered. */
export class Problem extends Error {
  /**
   * @param {number} status 0 where no answer came.
   * @param {string} title
   * @param {string} detail
   */
  constructor(status, title, detail) {
    super(detail);
    this.status = status;
    this.title = title;
    this.detail = detail;
  }
}

/** How far the server's clock is ahead of this one, in milliseconds. */
let ahead = 0;

/** The server's time, in milliseconds. */
export function now() {
  return Date.now() + ahead;
}

/**
 * @param {string} path Below `/v1`.
 * @param {AbortSignal} [signal]
 */
export function get(path, signal) {
  return ask('GET', path, undefined, {}, signal);
}

/**
 * @param {string} path Below `/v1`.
 * @param {unknown} body
 * @param {string} [key] An Idempotency-Key: the same request again does nothing more.
 */
export function post(path, body, key) {
  return ask('POST', path, body, key ? { 'idempotency-key': key } : {});
}

/** A key for one request, however often it is sent. */
export function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} body
 * @param {Record<string, string>} headers
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
async function ask(method, path, body, headers, signal) {
  const given = token();
  const asked = new Request(`/v1${path}`, {
    method,
    headers: {
      ...headers,
      ...(given ? { authorization: `Bearer ${given}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
    cache: 'no-store',
  });
  const answer = await fetch(asked).catch((error) => {
    if (signal?.aborted) throw error;
    throw new Problem(0, 'The server does not answer', 'Is the daemon running, and can this machine reach it?');
  });
  const date = Date.parse(answer.headers.get('date') ?? '');
  // The header counts whole seconds: a smaller difference says nothing.
  ahead = Math.abs(date - Date.now()) > 1500 ? date - Date.now() : 0;
  const told = await answer.json().catch(() => null);
  if (answer.ok && told !== null) return told;
  if (answer.status === 401 && given === token()) {
    forgetToken();
    window.dispatchEvent(new Event('refused'));
  }
  throw new Problem(
    answer.status,
    told?.title ?? `The server answered ${answer.status}`,
    told?.detail ?? `The server answered ${answer.status} and gave no reason; the log of the daemon may.`,
  );
}
