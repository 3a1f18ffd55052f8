import { WORDS, type Word } from "../words.ts";

/** A word with its explanation for a pointer. A view with such words also has `WordList`, for fingers, keys and screen readers. */
export function Explained({ word }: { word: Word }) {
  return <abbr title={WORDS[word]}>{word}</abbr>;
}

export function WordList({ words }: { words: readonly Word[] }) {
  return (
    <details class="words">
      <summary>What the words mean</summary>
      <dl>
        {words.map((word) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{WORDS[word]}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
