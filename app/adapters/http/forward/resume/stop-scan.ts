/**
 * Looks for stop strings that begin before the seam and end after it: the second instance knows only its own
 * text. Text is held back as long as it may be a part of one.
 */
export interface StopScan {
  /** Takes new text; gives what may be passed on. `stopped`: a stop string is complete, nothing more follows. */
  push(text: string): { readonly text: string; readonly stopped: boolean };
  /** What was held back and, at the end of the answer, is no part of a stop string. */
  rest(): string;
}

/** `before`: the text up to the seam, without a prefill of the client's, which is never searched. */
export function stopScan(stops: readonly string[], before: string): StopScan {
  const longest = stops.reduce((most, stop) => Math.max(most, stop.length), 0);
  const tail = longest < 2 ? '' : before.slice(1 - longest);
  let held = '';
  let done = tail === '';

  return {
    push(text) {
      if (done) return { text, stopped: false };
      held += text;
      if (straddles(stops, tail, held)) return { text: '', stopped: true };
      if (mayStraddle(stops, tail, held)) return { text: '', stopped: false };
      done = true;
      return { text: held, stopped: false };
    },
    rest() {
      const text = done ? '' : held;
      done = true;
      return text;
    },
  };
}

/** A stop string begins in `tail` and ends in `after`. */
function straddles(stops: readonly string[], tail: string, after: string): boolean {
  const whole = tail + after;
  return stops.some((stop) => {
    for (let at = whole.indexOf(stop); at >= 0 && at < tail.length; at = whole.indexOf(stop, at + 1)) {
      if (at + stop.length > tail.length) return true;
    }
    return false;
  });
}

/** All of it, from somewhere in `tail` on, is the beginning of a stop string. */
function mayStraddle(stops: readonly string[], tail: string, after: string): boolean {
  const whole = tail + after;
  for (let at = 0; at < tail.length; at += 1) {
    const end = whole.slice(at);
    if (stops.some((stop) => stop.length > end.length && stop.startsWith(end))) return true;
  }
  return false;
}
