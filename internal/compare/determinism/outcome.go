package determinism

import (
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
)

// Outcome is how the comparison of runs ended: what could not be read, then what
// differs, unless exitZero keeps that from the outcome, then what is not in all runs.
func (d *Report) Outcome(exitZero bool) batch.Outcome {
	o := d.ended(exitZero)
	for i := range d.Rows {
		if err := d.Rows[i].Err; err != nil {
			o.Messages = append(o.Messages, batch.Errorf("%v", err))
		}
	}
	const shown = 10
	missing := slices.Concat(d.MissingRounds, d.Missing)
	for _, m := range missing[:min(len(missing), shown)] {
		o.Messages = append(o.Messages, batch.Warnf("%s", m))
	}
	if more := len(missing) - shown; more > 0 {
		o.Messages = append(o.Messages, batch.Warnf("and %d more", more))
	}
	return o
}

func (d *Report) ended(exitZero bool) batch.Outcome {
	differing, unread := d.Differing()
	switch {
	case unread > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read, %d differ", lang.Count(unread, "tensor"), differing)
	case differing > 0 && !exitZero:
		return batch.Outcomef(batch.Found, "%d of %d tensors differ", differing, len(d.Rows)).AsShown()
	case len(d.MissingRounds) > 0:
		return batch.Outcomef(batch.NotCovered, "%s and %s not in all runs", lang.Count(len(d.MissingRounds), "round"), lang.Count(len(d.Missing), "tensor"))
	case len(d.Missing) > 0:
		return batch.Outcomef(batch.NotCovered, "%s not in all runs", lang.Count(len(d.Missing), "tensor"))
	}
	return batch.Outcome{}
}
