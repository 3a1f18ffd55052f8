import { useTopics } from "../reads.ts";
import { Choice } from "./choice.tsx";
import { PauseBadge } from "./pause-topic.tsx";

type Props = {
  readonly value: string;
  readonly onChange: (topic: string) => void;
  readonly none?: string;
};

export function TopicField({ value, onChange, none }: Props) {
  const topics = useTopics();
  const names = (topics.data ?? []).map(({ topic }) => topic);
  // An address may name a topic that the queue does not have. The API's error then says so.
  const all = value === "" || names.includes(value) ? names : [value, ...names];
  return (
    <div class="field">
      <Choice label="Topic" value={value} options={all} onChange={onChange} none={none} />
      <PauseBadge pause={topics.data?.find(({ topic }) => topic === value)?.pause} />
    </div>
  );
}
