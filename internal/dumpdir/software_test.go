package dumpdir

import (
	"reflect"
	"strings"
	"testing"
)

// TestSoftware: files beside dumps give the software of the rounds of their rank; files without
// software, or broken files, change nothing.
func TestSoftware(t *testing.T) {
	t.Parallel()
	const dump = "/Net/0/2/Add.Add-op1.0.0." + stamp1 + ".output.0.DefaultFormat.npy"
	long := strings.Repeat("9", 1000)
	for _, test := range []struct {
		name     string
		files    map[string]string
		want     [][]Software // of each round
		problems int
	}{
		{"of a rank", map[string]string{"rank_0" + dump: "x", "rank_1" + dump: "x", "rank_1/.dump_metadata/config.json": `{"device_target": "Ascend", "ms_version": "1.8.1"}`},
			[][]Software{nil, {{"mindspore", "1.8.1", "config.json"}}}, 0},
		{"elsewhere", map[string]string{"rank_0" + dump: "x", "rank_0/graphs/config.json": `{"ms_version": "1.8.1"}`}, [][]Software{nil}, 0},
		{"another value", map[string]string{"rank_0" + dump: "x", "rank_0/.dump_metadata/config.json": `{"ms_version": [1, {"a": 2}]}`}, [][]Software{nil}, 0},
		{"cut", map[string]string{"rank_0" + dump: "x", "rank_0/.dump_metadata/config.json": `{"ms_version": "1.8`}, [][]Software{nil}, 1},
		{"no object", map[string]string{"rank_0" + dump: "x", "rank_0/.dump_metadata/config.json": `["ms_version"]`}, [][]Software{nil}, 1},
		{"long", map[string]string{"rank_0" + dump: "x", "rank_0/.dump_metadata/config.json": `{"ms_version": "` + long + `"}`},
			[][]Software{{{"mindspore", long[:versionLength] + "...", "config.json"}}}, 0},
		{"msprobe", map[string]string{"step0/rank0/dump.json": `{"task":"statistics","level":"L1","framework":"pytorch","data":{"Tensor.add.0.forward":{"output":[{"type":"torch.Tensor","dtype":"torch.float32","shape":[1],"Max":1,"Min":1,"Mean":1,"Norm":1}]}}}`},
			[][]Software{{{"pytorch", "", "dump.json"}}}, 0},
	} {
		run := open(t, test.files)
		var got [][]Software
		for _, round := range run.Rounds {
			got = append(got, round.Software)
		}
		if !reflect.DeepEqual(got, test.want) || len(run.Problems) != test.problems {
			t.Errorf("%s: %v, problems %v, want %v and %d problems", test.name, got, run.Problems, test.want, test.problems)
		}
	}
}
