package determinism

import (
	"dumptool/internal/batch"
	"dumptool/internal/lang"
)

// Outcome is how the comparison of runs ended: what could not be read, then what
// differs, unless exitZero keeps that from the outcome, then what is not in all runs.
func (d *Report) Outcome(exitZero bool) batch.Outcome {
	o := d.ended(exitZero)
	for i := range d.Rows {
		if err := d.Rows[i].Err; err != nil {
			o.Messages = append(o.Messages, batch.Errorf("%v", "%v", err))
		}
	}
	const shown = 10
	for _, m := range d.Missing[:min(len(d.Missing), shown)] {
		o.Messages = append(o.Messages, batch.Warnf("%s", "%s", m))
	}
	if more := len(d.Missing) - shown; more > 0 {
		o.Messages = append(o.Messages, batch.Warnf("and %d more", "还有 %d 项", more))
	}
	return o
}

func (d *Report) ended(exitZero bool) batch.Outcome {
	switch {
	case d.Unread > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read, %d differ", "%s无法读取，%d 个不一致", lang.CountText(d.Unread, "tensor", "个张量"), d.Differing)
	case d.Differing > 0 && !exitZero:
		return batch.Outcomef(batch.Found, "%d of %d tensors differ", "%[2]d 个张量中 %[1]d 个不一致", d.Differing, len(d.Rows)).AsShown()
	case d.MissingRounds > 0:
		return batch.Outcomef(batch.NotCovered, "%s and %s not in all runs", "%s和 %s并非各次运行都有", lang.CountText(d.MissingRounds, "round", "个轮次"), lang.CountText(len(d.Missing)-d.MissingRounds, "tensor", "个张量"))
	case len(d.Missing) > 0:
		return batch.Outcomef(batch.NotCovered, "%s not in all runs", "%s并非各次运行都有", lang.CountText(len(d.Missing), "tensor", "个张量"))
	}
	return batch.Outcome{}
}
