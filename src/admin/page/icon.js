// Shapes, so that a state is told without its colour.

import { svg } from './dom.js';

/** Each a path in a square of 16, drawn with a pen of 1.6. */
const SHAPES = {
  pending: 'M8 2.5a5.5 5.5 0 1 0 .01 0M8 5v3.2l2 1.3',
  delivered: 'M3 8.6l3.2 3.2L13 4.6',
  dead: 'M4 4l8 8M12 4l-8 8',
  uncertain: 'M8 2L14.2 13.4H1.8ZM8 6.3v3.2M8 11.4v.1',
  superseded: 'M3 4.5L6.5 8L3 11.5M8.5 4.5L12 8L8.5 11.5',
  cancelled: 'M8 2.5a5.5 5.5 0 1 0 .01 0M4.3 4.3l7.4 7.4',
  missing: 'M8 2.5a5.5 5.5 0 1 0 .01 0M5.5 8h5',
  running: 'M5 3.2L12.5 8L5 12.8Z',
  paused: 'M5.5 3.5v9M10.5 3.5v9',
  failing: 'M9 1.8L3.5 9H8l-1 5.2L12.5 7H8Z',
  working: 'M3 8.6l3.2 3.2L13 4.6',
};

/** @typedef {keyof typeof SHAPES} Shape */

/** @param {Shape} shape */
export function icon(shape) {
  return svg('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svg('path', { d: SHAPES[shape] }));
}
