const TAKES_FOCUS = "a[href], button, input, select, textarea, summary, [tabindex]";

/** The element that the reader used last, and its ancestors. */
let last: Element[] = [];

function remember({ target }: Event): void {
  last = [];
  const found = target instanceof Element ? target.closest(TAKES_FOCUS) : null;
  for (let one: Element | null = found; one; one = one.parentElement) last.push(one);
}

/** Puts the focus back where it was. A button is disabled while it works, and often gone once its work is done: then into its section. */
function goOn(): void {
  const [own] = last;
  if (!own || document.activeElement !== document.body || (own.isConnected && own.matches(":disabled")))
    return;
  const near = last.find(one => one.isConnected && (one === own || one.matches("section, dialog, .more")));
  const next = near ?? document.querySelector("h1");
  if (!(next instanceof HTMLElement)) return;
  if (!next.matches(TAKES_FOCUS)) next.tabIndex = -1;
  next.focus({ preventScroll: true });
}

/** Without this, the browser gives the focus to the body whenever its element is disabled or removed. */
export function keepFocus(): void {
  addEventListener("pointerdown", remember, { capture: true });
  addEventListener("focusin", remember, { capture: true });
  new MutationObserver(goOn).observe(document, {
    subtree: true,
    childList: true,
    attributeFilter: ["disabled"],
  });
}
