// Addresses of views: everything that a view shows stands behind the `#`, so that it can be kept, sent and gone back to.

/** @typedef {Record<string, string | number | string[] | null | undefined>} Parameters */

/**
 * An address within the page.
 * @param {(string | number)[]} path
 * @param {Parameters | URLSearchParams} [query]
 */
export function to(path, query = {}) {
  const text = parameters(query).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`;
}

/**
 * A path of the API.
 * @param {(string | number)[]} path
 * @param {Parameters | URLSearchParams} [query]
 */
export function below(path, query = {}) {
  return to(path, query).slice(1);
}

/** Where the page is. */
export function here() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: new URLSearchParams(query),
  };
}

/**
 * Those parameters that say something.
 * @param {Parameters | URLSearchParams} query
 */
export function parameters(query) {
  const all = query instanceof URLSearchParams ? [...query] : Object.entries(query);
  const found = new URLSearchParams();
  for (const [name, values] of all) {
    for (const value of Array.isArray(values) ? values : [values]) {
      if (value !== null && value !== undefined && value !== '') found.append(name, String(value));
    }
  }
  return found;
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
