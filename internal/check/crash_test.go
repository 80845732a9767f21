package check

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/recompute"
)

// crashing returns options with a bug in a formula.
func crashing(formula string) Options {
	return Options{Seed: 1, FailOn: []string{"wrong"}, recompute: func(ctx context.Context, op *recompute.Operator) (*recompute.Verdict, error) {
		if op.Formula == formula {
			panic("index out of range")
		}
		return recompute.Judge(ctx, op)
	}}
}

// TestCrash: a bug of the program at an operator has its own status. It is no reason and no unreadable file, and all
// other operators are judged.
func TestCrash(t *testing.T) {
	t.Parallel()
	healthy, wrong, inPlace := golden+"/op24_sin_f16_clean", golden+"/op53_relu6_f32_zero_block", golden+"/op48_sigmoid_f32_clean"
	const crash = "internal error in 1 operator (please report)"
	for _, c := range []struct {
		formula, headline string
		undecided         int
		paths             []string
	}{
		{"Sin", crash + "; NOT JUDGED: only 0 of 1 operators", 0, []string{healthy}},
		{"Sin", "WRONG: ", 0, []string{healthy, wrong}},
		{"Relu6", crash + "; OK: 1 of 2 operators", 0, []string{healthy, wrong}},
		{"Relu6", crash + "; NOT JUDGED: only 0 of 2 operators", 1, []string{inPlace, wrong}},
	} {
		r := checked(t, crashing(c.formula), c.paths...)
		headline := r.Summary.Headline.String()
		if len(r.Problems) > 0 || r.Summary.Counts["crashed"] != 1 || len(r.Summary.Undecided) != c.undecided || !strings.HasPrefix(headline, c.headline) || !strings.Contains(headline, crash) {
			t.Errorf("%s: %q, %v, undecided %v, problems %v", c.formula, headline, r.Summary.Counts, r.Summary.Undecided, r.Problems)
		}
		o := r.Outcome(false)
		if o.Kind != batch.Incomplete || len(o.Messages) != 1 || !strings.Contains(o.Text.String(), "internal error") {
			t.Errorf("%s: ends as %d, %v with %d messages", c.formula, o.Kind, o.Text, len(o.Messages))
		}
		for _, one := range r.Operators {
			crashed := strings.EqualFold(one.Type, c.formula)
			if crashed != (one.Status == recompute.Crashed) || crashed && (one.Reason != "" || !strings.Contains(one.Evidence.String(), "index out of range") || len(one.Outputs) != 1 || len(one.Inputs) == 0) {
				text, _ := json.Marshal(one)
				t.Errorf("%s: %s", c.formula, text)
			}
		}
	}
}

// TestCrashOfSelf: a comparison reports a bug at an operator that it computed again.
func TestCrashOfSelf(t *testing.T) {
	t.Parallel()
	run, err := dumpdir.Open(context.Background(), []string{golden + "/op24_sin_f16_clean"}, dumpdir.Options{NoRaw: true})
	if err != nil {
		t.Fatal(err)
	}
	all, unread, err := RecomputeOperators(context.Background(), run, crashing("Sin"), func(dumpdir.Coordinates) bool { return false })
	if err != nil || len(all) != 1 || len(unread) != 1 || !strings.Contains(unread[0].String(), "internal error") {
		t.Fatal(all, unread, err)
	}
	for at, self := range all {
		if !self.IsCrashed() || self.IsRight() || self.IsWrong() {
			t.Errorf("%v is %+v", at, self)
		}
	}
}

// TestCrashInUnwritten: a bug while unwritten memory is followed is a problem.
func TestCrashInUnwritten(t *testing.T) {
	t.Parallel()
	run, err := dumpdir.Open(context.Background(), []string{"../../testdata/golden/unwritten/faulty"}, dumpdir.Options{NoRaw: true})
	if err != nil {
		t.Fatal(err)
	}
	opt := crashing("ReduceMean")
	found, problems, err := FindUnwritten(context.Background(), run, opt)
	if err != nil || len(problems) != 1 || !strings.HasSuffix(problems[0].File, "Torch.mean.0.forward.input.0.npy") || !strings.Contains(problems[0].Err.String(), "index out of range") {
		t.Errorf("problems %v, %v", problems, err)
	}
	if len(found) != 1 || found[0].Reaches != "" {
		t.Errorf("found %+v", found)
	}
}
