// Looks at each frame of the page for faults of layout and contrast, and writes them into data-faults of the body.
const pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
const LEAST_CONTRAST = 4.5;

function channels(colour, below) { // of a CSS colour over an opaque one
  for (const paint of [below, colour]) { pixel.fillStyle = paint; pixel.fillRect(0, 0, 1, 1); }
  return [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3);
}

function luminance(rgb) {
  const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function background(element, view) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.unshift(view.getComputedStyle(at).backgroundColor);
  return layers.reduce((below, layer) => `rgb(${channels(layer, below).join(" ")})`, "rgb(255 255 255)");
}

function contrast(element, view) {
  const style = view.getComputedStyle(element), below = background(element, view);
  const colour = element instanceof view.SVGElement ? style.fill : style.color;
  const [low, high] = [luminance(channels(colour, below)), luminance(channels(below, below))].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function scrolls(element, view) { // whether it, or an element around it, scrolls by itself
  for (let at = element; at && at !== view.document.body; at = at.parentElement)
    if (["auto", "scroll"].includes(view.getComputedStyle(at).overflowX)) return true;
  return false;
}

function label(element) {
  return `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} "${element.textContent.trim().slice(0, 40)}"`;
}

function faultsOf(frame) {
  const view = frame.contentWindow, page = frame.contentDocument, faults = [];
  if (page.documentElement.scrollWidth > view.innerWidth) faults.push(`the page scrolls: ${page.documentElement.scrollWidth}`);
  for (const element of page.body.querySelectorAll("*")) {
    const box = element.getBoundingClientRect(), style = view.getComputedStyle(element);
    if (!box.width || !box.height || style.visibility === "hidden" || element.closest("script, style, title, [data-chart]")) continue;
    const words = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    const around = element instanceof view.SVGElement ? element.ownerSVGElement : element.parentElement;
    const outer = around?.getBoundingClientRect();
    const isText = words || !(element instanceof view.SVGElement);
    if (outer && isText && !scrolls(around, view) && (box.right > outer.right + 1 || box.left < outer.left - 1))
      faults.push(`wider than its container: ${label(element)}`);
    if (["hidden", "clip"].includes(style.overflowX) && words && element.scrollWidth > element.clientWidth + 1)
      faults.push(`clipped: ${label(element)}`);
    if (element.matches(".scroll.fits") && element.scrollWidth > element.clientWidth + 1)
      faults.push(`has to be scrolled: ${label(element)}`);
    if (words && contrast(element, view) < LEAST_CONTRAST)
      faults.push(`contrast ${contrast(element, view).toFixed(2)}: ${label(element)}`);
  }
  return faults;
}

addEventListener("load", () => {
  const found = {};
  for (const frame of document.querySelectorAll("iframe")) found[frame.name] = faultsOf(frame);
  document.body.dataset.faults = JSON.stringify(found);
});
