// The square of a photo that is published. The photo is moved inside it by dragging it, or by a slider.

/**
 * @param {HTMLElement} root contains an image in a square, and a slider in a label
 * @param {string} [focus] such as `0.5,0.25`; the centre by default
 * @param {(focus: string) => void} [changed]
 */
export function pickFocus(root, focus = "0.5,0.5", changed = () => undefined) {
  const image = /** @type {HTMLImageElement} */ (root.querySelector("img"));
  const slider = /** @type {HTMLInputElement} */ (root.querySelector('input[type="range"]'));
  const label = /** @type {HTMLElement} */ (slider.closest("label"));

  /** The side along which the square moves, relative to the square: 1 for a square photo. */
  const length = () => Math.max(image.naturalWidth, image.naturalHeight) / Math.min(image.naturalWidth, image.naturalHeight);
  const isWide = () => image.naturalWidth > image.naturalHeight;
  const place = () => {
    const percent = `${Number(slider.value) / 10}%`;
    image.style.objectPosition = isWide() ? `${percent} 50%` : `50% ${percent}`;
  };
  const report = () => {
    place();
    // The centre of the square, as a fraction of the photo.
    const centre = (((Number(slider.value) / 1000) * (length() - 1) + 0.5) / length()).toFixed(4);
    changed(isWide() ? `${centre},0.5` : `0.5,${centre}`);
  };

  const begin = () => {
    const [x, y] = focus.split(",").map(Number);
    label.hidden = !(length() > 1.005);
    const start = ((isWide() ? x : y) * length() - 0.5) / (length() - 1);
    slider.value = String(1000 * Math.min(1, Math.max(0, start)));
    image.classList.toggle("movable", !label.hidden);
    image.style.touchAction = isWide() ? "pan-y" : "none";
    place();
  };
  slider.oninput = report;
  image.onpointerdown = (event) => {
    if (label.hidden) return;
    event.preventDefault();
    image.setPointerCapture(event.pointerId);
    const from = { at: isWide() ? event.clientX : event.clientY, value: Number(slider.value) };
    const hidden = (length() - 1) * image.clientWidth;
    image.onpointermove = (move) => {
      const moved = (isWide() ? move.clientX : move.clientY) - from.at;
      slider.value = String(from.value - (1000 * moved) / hidden);
      report();
    };
  };
  image.onpointerup = image.onpointercancel = () => {
    image.onpointermove = null;
  };
  if (image.complete && image.naturalWidth) begin();
  else image.addEventListener("load", begin, { once: true });
}
