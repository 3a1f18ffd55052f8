import { QueryClientProvider } from "@tanstack/preact-query";
import { useEffect } from "preact/hooks";
import { ErrorBoundary, LocationProvider, lazy, Route, Router } from "preact-iso";
import { queries } from "./api.ts";
import { Frame } from "./frame.tsx";
import { isKeyWrong } from "./server.ts";
import { NotLoaded } from "./views/not-loaded.tsx";
import { NothingHere } from "./views/nothing-here.tsx";
import { Overview } from "./views/overview.tsx";

/** Says so if the code of a view cannot be read, because the page's server has stopped. */
function orNotLoaded<View>(view: Promise<View>): Promise<View> {
  return view.catch(() => NotLoaded as View);
}

// Each is loaded when it is opened first, so that the overview is there sooner.
const ActionsView = lazy(() => orNotLoaded(import("./views/actions.tsx").then((view) => view.ActionsView)));
const DeadView = lazy(() => orNotLoaded(import("./views/dead.tsx").then((view) => view.DeadView)));
const EnqueueView = lazy(() => orNotLoaded(import("./views/enqueue.tsx").then((view) => view.EnqueueView)));
const JobView = lazy(() => orNotLoaded(import("./views/job.tsx").then((view) => view.JobView)));
const JobsView = lazy(() => orNotLoaded(import("./views/jobs.tsx").then((view) => view.JobsView)));
const LiveView = lazy(() => orNotLoaded(import("./views/live.tsx").then((view) => view.LiveView)));
const ScheduleView = lazy(() =>
  orNotLoaded(import("./views/schedule.tsx").then((view) => view.ScheduleView)),
);
const SchedulesView = lazy(() =>
  orNotLoaded(import("./views/schedules.tsx").then((view) => view.SchedulesView)),
);
const TimeView = lazy(() => orNotLoaded(import("./views/time.tsx").then((view) => view.TimeView)));
const TopicView = lazy(() => orNotLoaded(import("./views/topic.tsx").then((view) => view.TopicView)));

const LATER_VIEWS = [
  ...[
    ActionsView,
    DeadView,
    EnqueueView,
    JobView,
    JobsView,
    LiveView,
    ScheduleView,
    SchedulesView,
    TimeView,
    TopicView,
  ],
];
/** ms */
const LATER = 1000;

export function App() {
  // Each view must open also if the page's server stops meanwhile.
  useEffect(() => {
    // Without the key nothing but the advice is shown.
    if (isKeyWrong.value) return;
    setTimeout(() => {
      for (const view of LATER_VIEWS) void view.preload();
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
      <Route path="/console/last-actions" component={ActionsView} />
      <Route path="/console/live" component={LiveView} />
      <Route path="/console/schedules" component={SchedulesView} />
      <Route path="/console/schedules/:name" component={ScheduleView} />
      <Route path="/console/topics/:topic" component={TopicView} />
      <Route default component={NothingHere} />
    </Router>
  );
}
