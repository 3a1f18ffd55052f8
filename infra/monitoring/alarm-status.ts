import { type Alarm, AlarmStatusWidget, Column, GRID_WIDTH, type IWidget } from "aws-cdk-lib/aws-cloudwatch";
import { chunksOf } from "../../src/general/batches.ts";

/** The most alarms of one widget ("Dashboard body structure and syntax", CloudWatch API Reference). */
const MOST_ALARMS = 100;
const HEIGHT = 4;

/** The alarms are read at synth, so that alarms of later consumers are shown too. */
export class AlarmStatus implements IWidget {
  readonly width = GRID_WIDTH;
  private readonly alarms: readonly Alarm[];
  private at = { x: 0, y: 0 };

  constructor(alarms: readonly Alarm[]) {
    this.alarms = alarms;
  }

  get height(): number {
    return this.column().height;
  }

  position(x: number, y: number): void {
    this.at = { x, y };
  }

  toJson(): unknown[] {
    const column = this.column();
    column.position(this.at.x, this.at.y);
    return column.toJson();
  }

  private column(): Column {
    const chunks = chunksOf(this.alarms, MOST_ALARMS);
    return new Column(
      ...chunks.map(
        (alarms) => new AlarmStatusWidget({ title: "Alarms", alarms, width: GRID_WIDTH, height: HEIGHT }),
      ),
    );
  }
}
