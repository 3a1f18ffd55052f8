import type { Route } from "./route.ts";
import { healthRoute, openapiRoute } from "./routes/about.ts";
import { bulkRoute } from "./routes/bulk.ts";
import { deadRoutes } from "./routes/dead.ts";
import { eraseRoute } from "./routes/erase.ts";
import { exportRoute } from "./routes/export.ts";
import { jobRoutes } from "./routes/jobs.ts";
import { keyedJobRoutes } from "./routes/keyed-jobs.ts";
import { listRoutes } from "./routes/lists.ts";
import { manyJobRoutes } from "./routes/many-jobs.ts";
import { pauseRoutes } from "./routes/pauses.ts";
import { pulledRoutes } from "./routes/pulled.ts";
import { receiveRoute } from "./routes/receive.ts";
import { scheduleRoutes } from "./routes/schedules.ts";
import { topicRoutes } from "./routes/topics.ts";

export const routes: readonly Route[] = [
  ...jobRoutes,
  ...manyJobRoutes,
  bulkRoute,
  eraseRoute,
  exportRoute,
  ...keyedJobRoutes,
  ...listRoutes,
  ...topicRoutes,
  ...pauseRoutes,
  receiveRoute,
  ...pulledRoutes,
  ...deadRoutes,
  ...scheduleRoutes,
  openapiRoute(() => routes),
  healthRoute,
];
