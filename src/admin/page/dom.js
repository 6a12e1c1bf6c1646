// Elements from values. Text only ever becomes a text node, so nothing that a pipeline or a receiver wrote can run here.

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Child | readonly any[]} Children A child, or children however deep. */
/** @typedef {Record<string, unknown>} Attributes A function under a name such as `onclick` hears that event. */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An HTML element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes | null} [attributes] What is false, null or undefined is left out; true is an attribute without a value.
 * @param {Children[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes ?? {}, children);
}

/**
 * An SVG element.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes | null} [attributes]
 * @param {Children[]} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes ?? {}, children);
}

/**
 * The nodes that children come to, in order.
 * @param {Children} children
 * @returns {Node[]}
 */
export function nodes(children) {
  if (Array.isArray(children)) return children.flatMap(nodes);
  if (children === null || children === undefined || children === false) return [];
  return [children instanceof Node ? children : document.createTextNode(String(children))];
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Attributes} attributes
 * @param {Children[]} children
 * @returns {E}
 */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') Object.assign(element, { [name]: value });
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...nodes(children));
  return element;
}
