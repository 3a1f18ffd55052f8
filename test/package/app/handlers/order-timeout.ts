import { consumer } from "minutehand/consumer";

export const handler = consumer<{ order: number }>((job) => {
  console.log(`closed order ${job.body.order}`);
});
