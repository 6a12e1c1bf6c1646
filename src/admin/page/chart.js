// How many deliveries went well, upwards, and how many attempts did not, downwards: told by place, not by colour alone.

import { h, svg } from './dom.js';
import { count, exact } from './format.js';

/** @typedef {{ at: string, delivered: number, failed: number }} Point */

const [STEP, BAR, HEIGHT] = [10, 8, 60];

/**
 * @param {string} name
 * @param {Point[]} points The oldest first.
 * @param {{ unit: string, span: string }} words Of a point, and of all.
 */
export function chart(name, points, { unit, span }) {
  const most = (/** @type {'delivered' | 'failed'} */ what) => Math.max(0, ...points.map((point) => point[what]));
  const sum = (/** @type {'delivered' | 'failed'} */ what) => points.reduce((total, point) => total + point[what], 0);
  const [up, down] = [most('delivered'), most('failed')];
  const scale = HEIGHT / Math.max(1, up + down);
  const ground = down === 0 ? HEIGHT : up * scale;
  const label = `${name}: ${count(sum('delivered'))} delivered and ${count(sum('failed'))} failed attempts in the last ${span}; at most ${count(up)} delivered ${unit}`;
  return h('figure', { class: 'chart' },
    svg('svg', { viewBox: `0 0 ${points.length * STEP} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
      points.map((point, index) => bars(point, index * STEP + (STEP - BAR) / 2, ground, scale)),
      svg('line', { class: 'ground', x1: 0, x2: points.length * STEP, y1: ground, y2: ground })),
    h('figcaption', null,
      h('span', null, `1 ${span} ago`),
      h('span', null, `peak ${count(up)} delivered ${unit}`),
      h('span', null, 'now')));
}

/**
 * @param {Point} point
 * @param {number} x
 * @param {number} ground
 * @param {number} scale
 */
function bars({ at, delivered, failed }, x, ground, scale) {
  const bar = (/** @type {string} */ kind, /** @type {number} */ y, /** @type {number} */ number) =>
    number > 0 && svg('rect', { class: kind, x, y, width: BAR, height: Math.max(1, number * scale) });
  return svg('g', null,
    svg('title', null, `${exact(at)}: ${count(delivered)} delivered, ${count(failed)} failed`),
    svg('rect', { class: 'hover', x, y: 0, width: BAR, height: HEIGHT }),
    bar('delivered', ground - Math.max(1, delivered * scale), delivered),
    bar('failed', ground, failed));
}
