/**
 * Whatever code the server can send, the page can say. That the lists are whole is the compiler's to see: a problem
 * or an error with a code that is not in them is none.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ERROR_CODES, PROBLEM_CODES } from '../../app/core/codes.ts';
import { phraseError } from '../../app/web/text/errors.ts';
import { LANGUAGES } from '../../app/web/text/format.ts';
import { phraseProblem } from '../../app/web/text/problems.ts';
import { loadText } from '../../app/web/text/text.ts';

/** Words of the reader's own script: what was left in English has none. */
const SCRIPT = { en: /[a-z]/, ko: /\p{Script=Hangul}/u, zh: /\p{Script=Han}/u } as const;

for (const language of LANGUAGES) {
  describe(`codes of the server in ${language}`, async () => {
    const text = await loadText(language);
    const own = SCRIPT[language];

    it('of problems have a sentence and a fix', () => {
      for (const code of PROBLEM_CODES) {
        const problem = { code, text: 'It is so.', fix: 'Do this.', model: 'chat' };
        const { said, fix } = phraseProblem(problem, text.problems);
        assert.match(said, own, code);
        assert.match(fix, own, code);
      }
    });

    it('say what helps against a prompt that is too long: a restart where the model was reduced', () => {
      const problem = { code: 'context_exceeded', text: 'Too long.', model: 'chat' };
      const params = { tokens: 5000, context: 4096, wanted: 6144 };
      const larger = phraseProblem({ ...problem, fix: 'Set it to 6144.', params }, text.problems);
      const whole = { ...params, whole: 8192 };
      const restart = phraseProblem({ ...problem, fix: 'Restart it: 8192.', params: whole }, text.problems);
      assert.match(larger.fix, /6144/);
      assert.match(restart.fix, /8192/);
      assert.doesNotMatch(restart.fix, /6144|models\.chat/);
    });

    it("of errors have a sentence, and keep the server's own, which has the numbers", () => {
      for (const code of ERROR_CODES) {
        const message = 'chat needs 6.2 GiB.';
        const { said, detail } = phraseError({ code, message }, text.errors);
        assert.match(said, own, code);
        assert.ok(said === message || detail === message, code);
      }
    });

    it("that are not known are told in the server's words", () => {
      const problem = { code: 'something_new', text: 'New trouble.', fix: 'Do this.' };
      assert.equal(phraseProblem(problem, text.problems).said, 'New trouble.');
      const error = { code: 'something_new', message: 'New trouble.' };
      assert.deepEqual(phraseError(error, text.errors), { said: 'New trouble.', detail: null });
    });

    it('of reasons have words', () => {
      for (const [reason, said] of Object.entries(text.reasons)) assert.match(said, own, reason);
    });
  });
}
