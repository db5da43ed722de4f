import { text, view } from '../state/app.ts';
import { phraseProblem } from '../text/problems.ts';
import { Icon } from './icon.tsx';

/** What needs a person: what is wrong, what to do; gone when it is solved. */
export function Problems() {
  const problems = view.value?.problems ?? [];
  if (problems.length === 0) return null;
  const words = text.value;
  return (
    <section class="problems" aria-label={words.home.problems}>
      <ul>
        {problems.map((problem) => {
          const { said, fix } = phraseProblem(problem, words.problems);
          return (
            <li key={`${problem.code} ${problem.model ?? ''} ${problem.about ?? ''}`} class="problem">
              <Icon shape="triangle" />
              <div>
                <p class="problem-text">{said}</p>
                {fix !== '' && (
                  <p class="problem-fix">
                    <strong>{words.problem.fix}:</strong> {fix}
                  </p>
                )}
                <details>
                  <summary>{words.problem.details}</summary>
                  {said !== problem.text && (
                    <p lang="en" class="muted">
                      {problem.text} {problem.fix}
                    </p>
                  )}
                  <p class="mono">{words.problem.code(problem.code)}</p>
                </details>
              </div>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
