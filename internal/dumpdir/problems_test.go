package dumpdir

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProblems(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"a rank and steps are missing", named(
			"rank_0/Net/0/1/A.x.1.2."+stamp1, "rank_0/Net/0/2/A.x.1.2."+stamp1,
			"rank_1/Net/0/1/A.x.1.2."+stamp1,
			"rank_3/Net/0/2/A.x.1.2."+stamp1,
		), []string{"missing rank||rank 2", "missing step||rank 1 step 2", "missing step||rank 3 step 1"}},
		{"a rank and a step are empty", named(
			"rank_0/Net/0/1/A.x.1.2."+stamp1, "rank_0/Net/0/2/A.x.1.2."+stamp1,
			"rank_1/Net/0/1/A.x.1.2."+stamp1, "rank_1/Net/0/2/",
			"rank_2/graphs/ms_output_trace_code_graph_0.ir",
		), []string{"empty|rank_1/Net/0/2|rank 1 step 2 graph 0 model Net", "empty|rank_2|rank 2"}},
		{"devices that are far apart are chosen", named("20200808163566/0/A.x.1."+stamp1, "20200808163566/7/A.x.1."+stamp1), nil},
		{"one device between two", named("20200808163566/0/A.x.1."+stamp1, "20200808163566/2/A.x.1."+stamp1), []string{"missing rank||rank 1"}},
		{"an empty step of CANN", named(
			"20200808163566/0/net/11/0/A.x.1."+stamp1, "20200808163566/0/net/11/1/", "20200808163566/1/",
		), []string{"empty|20200808163566/0/net/11/1|rank 0 step 1 graph 11 model net", "empty|20200808163566/1|rank 1"}},
		{"a folder of an application and one of records is no empty step", named(
			"rank_0/Net/0/1/A.x.1.2."+stamp1, "rank_0/debug_files/1/Opdebug.Node_OpDebug.0.0."+stamp1, "logs/",
		), nil},
		{"an empty dump", map[string]string{"rank_0/Net/0/1/A.x.1.2." + stamp1: "", "rank_0/Net/0/1/readme": ""},
			[]string{"cut|rank_0/Net/0/1/A.x.1.2." + stamp1 + "|rank 0 step 1 graph 0 model Net"}},
		{"two start times of one step", named(
			"20200808163566/0/net/11/0/A.x.1."+stamp1, "20200808163567/0/net/11/0/A.x.1."+stamp2, "20200808163567/0/net/11/0/A.y.1."+stamp3,
		), []string{"repeated||rank 0 step 0 graph 11 model net"}},
		{"two processes of one step", named(
			"20200808163566/0/net/11/0/A.x.1."+stamp1, "20200808163567/0/net/11/0/A.y.1."+stamp3,
		), nil},
		{"side files that cannot be read", map[string]string{
			"rank_0/Net/0/1/A.x.1.2." + stamp1:                      "x",
			"rank_0/Net/0/1/statistic.csv":                          "Op Type,IO,Slot\nA,sideways,0\n",
			"rank_0/execution_order/ms_execution_order_graph_0.csv": "a\n\"b\nc\n",
		}, []string{"side file|rank_0/Net/0/1/statistic.csv|rank 0 step 1 graph 0 model Net", "side file|rank_0/execution_order/ms_execution_order_graph_0.csv|rank 0"}},
	} {
		r := open(t, test.files)
		if diff := cmp.Diff(test.want, problems(r)); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
	}
}
