package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/standard"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// accepting returns options that judge by an acceptance standard.
func accepting(ref, npu string, s standard.Name, third string) conclude.Options {
	opt := exactly(ref, npu)
	opt.Judge.Limits.Profile, opt.Judge.Verdict.Mode = limits.ProfileHPAA, limits.ByLimits
	opt.Standard.Name, opt.Third = s, third
	return opt
}

// TestAccept judges operators by all rules: the standard alone decides, whatever limits and the states of the inputs
// suggest.
func TestAccept(t *testing.T) {
	ref, npu := t.TempDir(), t.TempDir()
	for _, x := range []struct {
		op       string
		refType  tensor.DType
		npuType  tensor.DType
		ref, npu float64
		others   int
	}{
		{"good", tensor.Float32, tensor.Float16, 1, 1, 7},
		{"near", tensor.Float32, tensor.Float16, 1, 1.01, 0}, // 0.01 is within HPAA's limits
		{"whole", tensor.Int32, tensor.Int32, 3, 4, 99},
		{"wide", tensor.Float64, tensor.Float64, 1, 1 + 0x1p-20, 3},
	} {
		r, n := make([]float64, 1+x.others), make([]float64, 1+x.others)
		r[0], n[0] = x.ref, x.npu
		shape := tensor.Shape{int64(len(r))}
		write(t, filepath.Join(ref, x.op+".npy"), array(x.refType, shape, r...))
		write(t, filepath.Join(npu, x.op+".npy"), array(x.npuType, shape, n...))
	}
	p, rep := planned(t, accepting(ref, npu, standard.Eco, ""))
	want := map[string]struct {
		status     record.Status
		rule, name string
	}{
		"good": {record.Pass, "float", "float16"}, "near": {record.Fail, "float", "float16"},
		"whole": {record.Fail, "integer", "int32"}, "wide": {record.Pass, "float", "float64"},
	}
	if rep.Standard != "cann-eco" || rep.Verdict != "limits" || len(rep.Rows) != len(want) {
		t.Fatalf("%s by %s: %v", rep.Standard, rep.Verdict, lines(rep))
	}
	for i := range rep.Rows {
		row := &rep.Rows[i]
		w := want[row.Op]
		s := row.Standard
		if row.Status != w.status || row.Status != s.Status || s.Rule != w.rule || s.Type != w.name || row.Evidence != nil {
			t.Errorf("%s: %s and %+v, want %+v", row.Op, row.Status, s, w)
		}
		if (row.Status == record.Fail) != hasCode(row.Reasons, finding.NotStandard) || len(row.Reasons) > 1 {
			t.Errorf("%s: %s with %v", row.Op, row.Status, row.Reasons)
		}
	}
	if o := p.opt.Outcome(rep); !strings.Contains(o.Text.String(), "2 of 4 tensors failed") {
		t.Errorf("outcome %+v", o)
	}
	if rep.Findings.FirstBad >= 0 || len(rep.Origins) > 0 {
		t.Errorf("found %+v", rep.Findings)
	}
}

// TestThird pairs a third result with the reference: without a third tensor, or with a third tensor of another shape,
// the row is skipped; an unreadable third tensor is an error.
func TestThird(t *testing.T) {
	ref, npu, other := t.TempDir(), t.TempDir(), t.TempDir()
	for _, op := range []string{"good", "bad", "gone", "short", "torn"} {
		n := 1 + 0x1p-10
		if op == "bad" {
			n = 1 + 0x1p-6
		}
		write(t, filepath.Join(ref, op+".npy"), array(tensor.Float32, tensor.Shape{2}, 1, 1))
		write(t, filepath.Join(npu, op+".npy"), array(tensor.Float16, tensor.Shape{2}, 1, n))
		shape, values := tensor.Shape{2}, []float64{1, 1 + 0x1p-10}
		if op == "short" {
			shape, values = tensor.Shape{1}, values[:1]
		}
		if op != "gone" {
			write(t, filepath.Join(other, op+".npy"), array(tensor.Float16, shape, values...))
		}
	}
	if err := os.Truncate(filepath.Join(other, "torn.npy"), 130); err != nil {
		t.Fatal(err)
	}
	_, rep := planned(t, accepting(ref, npu, standard.L2, other))
	want := map[string]struct {
		status record.Status
		text   string
	}{
		"good": {record.Pass, ""}, "bad": {record.Fail, "max relative error / same of the third result 16 > 2: 0.0156 and 0.000977"},
		"gone": {record.Skip, "the third result has no such tensor"}, "short": {record.Skip, "the third result is (1,), the reference (2,)"},
		"torn": {record.Error, "third: "},
	}
	for i := range rep.Rows {
		row := &rep.Rows[i]
		w := want[row.Op]
		text := ""
		if len(row.Reasons) > 0 {
			text = row.Reasons[0].Evidence.String()
		}
		if row.Status != w.status || !strings.HasPrefix(text, w.text) || (text == "") != (w.text == "") || row.IsCompared() != (row.Standard != nil) {
			t.Errorf("%s: %s, %q, want %s, %q", row.Op, row.Status, text, w.status, w.text)
		}
		if row.Op == "torn" && !strings.Contains(text, "torn.npy") {
			t.Errorf("the error does not name the file: %s", text)
		}
	}
	if c := &rep.Coverage; c.Compared != 2 || c.Reference != 5 || len(c.Skipped) != 2 {
		t.Errorf("coverage %+v", c)
	}
}

// TestAcceptEffective: bfloat16 numbers stored as float32 are judged as bfloat16; a tensor with more bits is judged
// as float32.
func TestAcceptEffective(t *testing.T) {
	ref, npu := t.TempDir(), t.TempDir()
	for i, op := range strings.Fields("a b c d e f g h i j k l") {
		r, n := make([]float64, 256), make([]float64, 256)
		for k := range r {
			n[k] = float64(128+k%128) * 0x1p-7
			r[k] = n[k] * (1 + 0x1p-9)
			if i == 0 {
				n[k] = r[k]*(1+0x1p-10) + 0x1p-20
			}
		}
		write(t, filepath.Join(ref, op+".npy"), array(tensor.Float32, tensor.Shape{256}, r...))
		write(t, filepath.Join(npu, op+".npy"), array(tensor.Float32, tensor.Shape{256}, n...))
	}
	_, rep := planned(t, accepting(ref, npu, standard.Eco, ""))
	for i := range rep.Rows {
		row := &rep.Rows[i]
		status, name := record.Pass, "bfloat16"
		if row.Op == "a" {
			status, name = record.Fail, "float32"
		}
		if row.Status != status || row.Standard.Type != name {
			t.Errorf("%s: %s by %+v, want %s by %s", row.Op, row.Status, row.Standard, status, name)
		}
	}
}

// TestThirdRounds: the third result of the same round is used; a third result without rounds serves all rounds.
func TestThirdRounds(t *testing.T) {
	const name = "ReLU.relu.0.0.1700000000000000.output.0.DefaultFormat.npy"
	side := func(ranks map[string]float64) string {
		dir := t.TempDir()
		for rank, x := range ranks {
			path := filepath.Join(dir, rank, "net", "0", "1", name)
			if rank == "" {
				path = filepath.Join(dir, name)
			}
			write(t, path, array(tensor.Float32, tensor.Shape{2}, 1, x))
		}
		return dir
	}
	npu := side(map[string]float64{"rank_0": 1.5, "rank_1": 1.5})
	for _, tt := range []struct {
		ref, third map[string]float64
		want       string
	}{
		{map[string]float64{"rank_0": 1, "rank_1": 1}, map[string]float64{"rank_0": 1, "rank_1": 1.5}, "0 FAIL, 1 PASS"},
		{map[string]float64{"": 1}, map[string]float64{"rank_0": 1, "rank_1": 1.5}, "0 FAIL, 1 PASS"},
		{map[string]float64{"rank_0": 1, "rank_1": 1}, map[string]float64{"": 1.5}, "0 PASS, 1 PASS"},
		{map[string]float64{"": 1}, map[string]float64{"": 1.5}, "0 PASS, 1 PASS"},
		{map[string]float64{"": 1}, map[string]float64{"rank_1": 1.5, "rank_2": 1.5}, "0 SKIP, 1 PASS"},
		{map[string]float64{"rank_0": 1, "rank_1": 1}, map[string]float64{"rank_0": 1.5}, "0 PASS, 1 SKIP"},
	} {
		opt := accepting(side(tt.ref), npu, standard.L0, side(tt.third))
		rep := runAll(t, opt)
		var got []string
		for i := range rep.Rows {
			got = append(got, rep.Rows[i].RoundCoordinates.Rank+" "+string(rep.Rows[i].Status))
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("reference %v, third %v: %s, want %s", tt.ref, tt.third, text, tt.want)
		}
		var err error
		if opt.NPURounds[dumpdir.ByRank], err = dumpdir.ParseNumbers("1"); err != nil {
			t.Fatal(err)
		}
		one := runAll(t, opt)
		if len(one.Rows) != 1 || !strings.HasSuffix(tt.want, "1 "+string(one.Rows[0].Status)) {
			t.Errorf("rank 1 of reference %v, third %v: %v, want %s", tt.ref, tt.third, lines(one), tt.want)
		}
	}
}
