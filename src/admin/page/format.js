// Numbers, sizes and times as people read them.

const COUNT = new Intl.NumberFormat('en');
const STEPS = /** @type {const} */ ([
  [60, 1, 's'],
  [3600, 60, 'min'],
  [172_800, 3600, 'h'],
  [Infinity, 86_400, 'days'],
]);

/** @param {number} number */
export function count(number) {
  return COUNT.format(number);
}

/**
 * `1 delivery`, `1,204 deliveries`.
 * @param {number} number
 * @param {string} one
 * @param {string} many
 */
export function counted(number, one, many) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/**
 * A span of time, such as `3 min`.
 * @param {number} seconds
 */
export function span(seconds) {
  const [, unit, name] = STEPS.find(([below]) => seconds < below) ?? STEPS[3];
  return `${Math.floor(seconds / unit)} ${name}`;
}

/**
 * `3 min ago`, `just now`, `in 20 s`, `now`.
 * @param {string} at
 * @param {number} now In milliseconds.
 */
export function relative(at, now) {
  const seconds = (Date.parse(at) - now) / 1000;
  if (Math.abs(seconds) < 1.5) return seconds < 0 ? 'just now' : 'now';
  return seconds < 0 ? `${span(-seconds)} ago` : `in ${span(seconds)}`;
}

/**
 * The exact time, in UTC.
 * @param {string} at
 */
export function exact(at) {
  return `${at.replace('T', ' ').replace(/(\.\d{3})\d*/, '$1').replace('Z', '')} UTC`;
}

/** @param {number} microseconds */
export function duration(microseconds) {
  if (microseconds < 1000) return `${count(microseconds)} µs`;
  if (microseconds < 10_000_000) return `${count(Math.round(microseconds / 1000))} ms`;
  return `${count(Math.round(microseconds / 1_000_000))} s`;
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1024) return counted(bytes, 'byte', 'bytes');
  return bytes < 1_048_576 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1_048_576).toFixed(1)} MiB`;
}

/**
 * Foreign text with what cannot be seen, or turns the line around, written out.
 * @param {string} text
 */
export function visible(text) {
  // Controls but tab and line feed; zero widths, bidirectional marks, embeddings and isolates, line separators, the mark of a file's order of bytes.
  const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
  return text.replace(unseen, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
