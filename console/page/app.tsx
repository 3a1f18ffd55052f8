import { QueryClientProvider } from "@tanstack/preact-query";
import { useEffect } from "preact/hooks";
import { ErrorBoundary, LocationProvider, lazy, Route, Router } from "preact-iso";
import { queries } from "./api.ts";
import { Frame } from "./frame.tsx";
import { NothingHere } from "./views/nothing-here.tsx";
import { Overview } from "./views/overview.tsx";

// Each is loaded when it is opened first, so that the overview is there sooner.
const DeadView = lazy(() => import("./views/dead.tsx").then((view) => view.DeadView));
const EnqueueView = lazy(() => import("./views/enqueue.tsx").then((view) => view.EnqueueView));
const JobView = lazy(() => import("./views/job.tsx").then((view) => view.JobView));
const JobsView = lazy(() => import("./views/jobs.tsx").then((view) => view.JobsView));
const LiveView = lazy(() => import("./views/live.tsx").then((view) => view.LiveView));
const ScheduleView = lazy(() => import("./views/schedule.tsx").then((view) => view.ScheduleView));
const SchedulesView = lazy(() => import("./views/schedules.tsx").then((view) => view.SchedulesView));
const TimeView = lazy(() => import("./views/time.tsx").then((view) => view.TimeView));
const TopicView = lazy(() => import("./views/topic.tsx").then((view) => view.TopicView));

const LATER_VIEWS = [
  ...[DeadView, EnqueueView, JobView, JobsView, LiveView, ScheduleView, SchedulesView, TimeView],
];
/** ms */
const LATER = 1000;

export function App() {
  // Each view must open also if the page's server stops meanwhile.
  useEffect(() => {
    setTimeout(() => {
      for (const view of LATER_VIEWS) view.preload().catch(() => undefined);
    }, LATER);
  }, []);
  return (
    <QueryClientProvider client={queries}>
      <LocationProvider scope="/console">
        <Frame>
          <ErrorBoundary>
            <Views />
          </ErrorBoundary>
        </Frame>
      </LocationProvider>
    </QueryClientProvider>
  );
}

function Views() {
  return (
    <Router>
      <Route path="/console" component={Overview} />
      <Route path="/console/time" component={TimeView} />
      <Route path="/console/jobs" component={JobsView} />
      <Route path="/console/jobs/:id" component={JobView} />
      <Route path="/console/dead" component={DeadView} />
      <Route path="/console/enqueue" component={EnqueueView} />
      <Route path="/console/live" component={LiveView} />
      <Route path="/console/schedules" component={SchedulesView} />
      <Route path="/console/schedules/:name" component={ScheduleView} />
      <Route path="/console/topics/:topic" component={TopicView} />
      <Route default component={NothingHere} />
    </Router>
  );
}
