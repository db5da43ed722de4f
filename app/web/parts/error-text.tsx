import type { ToldError } from '../logic/told-error.ts';
import { text } from '../state/app.ts';
import { phraseError } from '../text/errors.ts';

/** An error in the reader's language; the server's own sentence follows, which has the names and numbers. */
export function ErrorText({ error }: { error: ToldError }) {
  const { said, detail } = phraseError(error, text.value.errors);
  return (
    <>
      {said}
      {detail !== null && (
        <>
          {' '}
          <span lang="en">({detail})</span>
        </>
      )}
    </>
  );
}
