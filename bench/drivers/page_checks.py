"""Checks of the page that a node serves, for people who see it, hear it or use keys alone. The
scripts run in the page; each gives a list of what is wrong, in words."""

#: Roles that have to have a name (getFullAXTree).
NAMED_ROLES = {"button", "link", "textbox", "searchbox", "spinbutton", "combobox", "checkbox",
               "radio", "dialog", "table", "grid", "application", "region", "navigation", "image",
               "img", "Canvas", "form"}

#: Before any script of the page: what it does against its own policy, and when rows are there.
WATCH = """
window.__violations = [];
document.addEventListener('securitypolicyviolation',
  (event) => window.__violations.push(`${event.violatedDirective} ${event.blockedURI}`));
window.__firstRows = 0;
new MutationObserver((_, observer) => {
  if (document.querySelector('main table tbody tr:not([aria-hidden]) td a')) {
    observer.disconnect();
    requestAnimationFrame(() => { window.__firstRows = performance.now(); });
  }
}).observe(document, { childList: true, subtree: true });
"""

TOOLS = """
const shown = (element) => element.checkVisibility({ visibilityProperty: true }) &&
  element.getBoundingClientRect().width > 0;
const rgba = (text) => {
  const found = /^rgba?\\(([^)]*)\\)$/.exec(text);
  const numbers = found ? found[1].split(/[ ,/]+/).map(Number) : [0, 0, 0, 0];
  return numbers.length === 4 ? numbers : [...numbers, 1];
};
const over = ([r, g, b, a], [R, G, B]) =>
  [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
const grounds = new Map();
const groundOf = (element) => {
  if (!grounds.has(element)) {
    grounds.set(element, foundGround(element));
  }
  return grounds.get(element);
};
const foundGround = (element) => {
  const above = [];
  for (let at = element; at; at = at.parentElement) {
    const ground = rgba(getComputedStyle(at).backgroundColor);
    above.unshift(ground);
    if (ground[3] === 1) {
      break;
    }
  }
  return above.reduce((below, each) => over(each, below), [255, 255, 255, 1]);
};
const light = (colour) => {
  const [r, g, b] = colour.map((each) => {
    const part = each / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const named = (element) => `${element.tagName.toLowerCase()}` +
  `${element.className ? '.' + element.className : ''} ` +
  `"${(element.textContent ?? '').slice(0, 30)}"`;
"""

#: Of the view as it stands.
LOOK = "(() => {" + TOOLS + """
const wrong = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let texts = 0;
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (walker.currentNode.textContent.trim() === '' || !shown(element) ||
      element.closest('noscript')) {
    continue;
  }
  ++texts;
  const ground = groundOf(element);
  const ratio = contrast(over(rgba(getComputedStyle(element).color), ground), ground);
  if (ratio < 4.5) {
    wrong.push(`contrast ${ratio.toFixed(2)}: ${named(element)}`);
  }
}
if (texts < 5) {
  wrong.push(`only ${texts} pieces of text were found`);
}
if (!document.documentElement.lang) {
  wrong.push('the document has no language');
}
if (!document.title) {
  wrong.push('the document has no title');
}
const levels = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(shown)
  .map((each) => Number(each.tagName[1]));
if (levels.filter((each) => each === 1).length !== 1 || levels[0] !== 1) {
  wrong.push(`headings of the first level: ${levels}`);
}
levels.forEach((level, at) => {
  if (at > 0 && level > levels[at - 1] + 1) {
    wrong.push(`a heading of level ${level} follows one of level ${levels[at - 1]}`);
  }
});
const ids = [...document.querySelectorAll('[id]')].map((each) => each.id);
if (new Set(ids).size !== ids.length) {
  wrong.push('an id is there twice');
}
for (const canvas of document.querySelectorAll('canvas:not([aria-hidden])')) {
  const table = canvas.closest('main')?.querySelector('table');
  const rows = Number(table?.getAttribute('aria-rowcount') ?? 0);
  if (rows < 2 || !shown(table) || !table.caption) {
    wrong.push('a canvas has no table beside it that says the same');
  }
}
if (document.documentElement.scrollWidth > document.documentElement.clientWidth) {
  wrong.push(`the page is ${document.documentElement.scrollWidth} px wide in a window of ` +
    `${document.documentElement.clientWidth}`);
}
for (const control of document.querySelectorAll('button, input, select')) {
  const { width, height } = control.getBoundingClientRect();
  if (shown(control) && (width < 24 || height < 24) && control.type !== 'checkbox') {
    wrong.push(`a control of ${width} x ${height} px: ${named(control)}`);
  }
}
return wrong;
})()"""

#: Of the element that has the focus; "" if it can be seen.
FOCUS = "(() => {" + TOOLS + """
const element = document.activeElement;
if (!element || element === document.body) {
  return '';
}
const style = getComputedStyle(element);
const ground = groundOf(element.parentElement ?? element);
const isLine = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
const ratio = contrast(over(rgba(style.outlineColor), ground), ground);
const box = element.getBoundingClientRect();
const isIn = box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
return isLine && ratio >= 3 && isIn ? '' :
  `the focus is not seen on ${named(element)}: ${style.outline}, ${ratio.toFixed(1)}, ${isIn}`;
})()"""

#: With prefers-reduced-motion.
STILL = """(() => {
const wrong = document.getAnimations().map((each) => `it moves: ${each.animationName ?? each.id}`);
for (const element of document.querySelectorAll('*')) {
  const style = getComputedStyle(element);
  if (style.transitionDuration.split(', ').some((each) => parseFloat(each) > 0) ||
      (style.animationName !== 'none' && parseFloat(style.animationDuration) > 0) ||
      style.scrollBehavior === 'smooth') {
    wrong.push(`it moves: ${element.tagName}.${element.className}`);
  }
}
return wrong;
})()"""

#: Frames of each of `seconds` whole seconds.
FRAMES = """new Promise((resolve) => {
  const seconds = %d;
  const frames = new Array(seconds).fill(0);
  const begun = performance.now();
  const tick = () => {
    const second = Math.floor((performance.now() - begun) / 1000);
    if (second >= seconds) {
      resolve(frames);
      return;
    }
    ++frames[second];
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
})"""


def nameless(tree):
    """Of getFullAXTree: what has no name and needs one."""
    wrong = []
    for node in tree["nodes"]:
        role = node.get("role", {}).get("value", "")
        name = node.get("name", {}).get("value", "")
        if role in NAMED_ROLES and not node.get("ignored") and not name.strip():
            wrong.append(f"no name: {role} {node.get('backendDOMNodeId')}")
    return wrong
