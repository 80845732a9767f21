package dumpdir

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	stamp1 = "1624605159829577"
	stamp2 = "1624605159829578"
	stamp3 = "1624605159829579"
)

// trees are folders of each producer, after its documentation.
var trees = []struct {
	name     string
	producer Producer
	files    map[string]string
	// below is the folder to open, empty for the whole tree.
	below  string
	by     OrderSource
	rounds []string
}{
	{
		name: "CANN: two devices, two processes", producer: CANN, by: ByTimestamp,
		files: named(
			"20210818163201/0/ge_default_20210818163201_21/11/0/Relu.b.2.1."+stamp2,
			"20210818163201/0/ge_default_20210818163201_21/11/0/Conv2D.a.1.1."+stamp1,
			"20210818163202/1/ge_default_20210818163202_21/11/0/Conv2D.a.1.1."+stamp1,
			"20210818163202/1/ge_default_20210818163202_21/11/0/Relu.b.2.1."+stamp3,
		),
		rounds: []string{"rank 0 step 0 graph 11 model ge_default_21: a(*) b(*)", "rank 1 step 0 graph 11 model ge_default_21: a(*) b(*)"},
	},
	{
		name: "CANN without a model, two steps", producer: CANN, by: ByTimestamp,
		files: named(
			"20200808163566/3/11/10/A.x.1.1."+stamp1, "20200808163566/3/11/10/A.y.1.1."+stamp2,
			"20200808163566/3/11/9/A.x.1.1."+stamp1, "20200808163566/3/11/9/A.y.1.1."+stamp2,
		),
		rounds: []string{"rank 3 step 9 graph 11: x(*) y(*)", "rank 3 step 10 graph 11: x(*) y(*)"},
	},
	{
		name: "CANN: operators without a model", producer: CANN, by: ByTimestamp,
		files:  named("20200808163566/0/A.x.1."+stamp1, "20200808163566/0/A.y.1."+stamp2),
		rounds: []string{"rank 0: x(*) y(*)"},
	},
	{
		name: "CANN: one number below the device is no step", producer: CANN, by: ByTimestamp,
		files: named("20200808163566/0/net/4/A.x.1."+stamp1, "20200808163566/0/net/4/A.y.1."+stamp2,
			"20200808163566/0/net/5/A.x.1."+stamp1, "20200808163566/0/net/5/A.y.1."+stamp2),
		rounds: []string{"rank 0 model net folder 4: x(*) y(*)", "rank 0 model net folder 5: x(*) y(*)"},
	},
	{
		name: "CANN below a step of MindSpore", producer: CANN, by: ByTimestamp,
		files: named("4/20200808163566/1/net/11/0/A.x.1."+stamp1, "4/20200808163566/1/net/11/0/A.y.1."+stamp2,
			"5/20200808163567/1/net/11/0/A.x.1."+stamp1, "5/20200808163567/1/net/11/0/A.y.1."+stamp2),
		rounds: []string{"rank 1 step 4 graph 11 model net: x(*) y(*)", "rank 1 step 5 graph 11 model net: x(*) y(*)"},
	},
	{
		name: "CANN below a rank and a step of msprobe", producer: CANN, by: ByTimestamp,
		files:  named("rank_5/20200808163500/step_4/20200808163566/1/net/11/0/A.x.1."+stamp1, "rank_5/20200808163500/step_4/20200808163566/1/net/11/0/A.y.1."+stamp2),
		rounds: []string{"rank 5 step 4 graph 11 model net: x(*) y(*)"},
	},
	{
		name: "CANN: a folder of dumps alone, with records", producer: CANN, by: ByTimestamp,
		files:  named("Opdebug.Node_OpDebug.5.6."+stamp3, "Add.b.2.1."+stamp1, "Add.a.2.1."+stamp2, "Add.a.2.1."+stamp3, "readme"),
		rounds: []string{": b(*) a#1(*) a#2(*)"},
	},
	{
		name: "CANN: the step itself was given", producer: CANN, by: ByTimestamp, below: "20200808163566/2/net/11/7",
		files:  named("20200808163566/2/net/11/7/A.x.1."+stamp1, "20200808163566/2/net/11/7/A.y.1."+stamp2),
		rounds: []string{"rank 2 step 7 graph 11 model net: x(*) y(*)"},
	},
	{
		name: "CANN: the folder of the steps was given", producer: CANN, by: ByTimestamp, below: "20200808163566/2/net/11",
		files: named("20200808163566/2/net/11/7/A.x.1."+stamp1, "20200808163566/2/net/11/7/A.y.1."+stamp2,
			"20200808163566/2/net/11/8/A.x.1."+stamp1, "20200808163566/2/net/11/8/A.y.1."+stamp2),
		rounds: []string{"rank 2 step 7 graph 11 model net: x(*) y(*)", "rank 2 step 8 graph 11 model net: x(*) y(*)"},
	},
	{
		name: "CANN: tables of statistics, and threads of an operator", producer: CANN, by: ByTimestamp,
		files: named("20200808163566/2/A.x.1.2."+stamp1+".csv",
			"20200808163566/2/A.y.1.2."+stamp2+".4.1.0.2", "20200808163566/2/A.y.1.2."+stamp3+".4.1.1.2"),
		rounds: []string{"rank 2: x(*t) y(*,*)"},
	},
	{
		name: "MindSpore: synchronous, oldest", producer: MindSpore, by: ByExecution,
		files: map[string]string{
			"Net/0/iteration_1/Default--conv1--Conv2D-op2_output_0_shape_1_2_Float32_NCHW.bin":       "x",
			"Net/0/iteration_1/Default--relu--ReLU-op1_input_0_shape_1_2_Float32_DefaultFormat.bin":  "x",
			"Net/0/iteration_1/Default--relu--ReLU-op1_output_0_shape_1_2_Float32_DefaultFormat.bin": "x",
			"Net/0/iteration_1/conv1.weight_output_0_shape_2_Float32_DefaultFormat.bin":              "x",
			"Net/0/execution_order/ms_execution_order_graph_0.csv":                                   "Default/conv1/Conv2D-op2\nDefault/relu/ReLU-op1\n",
			"Net/0/graphs/ms_output_trace_code_graph_0.pb":                                           "x",
			".metadata/data_dump.json": "{}",
		},
		rounds: []string{"rank 0 step 1 model Net: Default/conv1/Conv2D-op2(o0) Default/relu/ReLU-op1(i0,o0) conv1.weight(o0)"},
	},
	{
		name: "MindSpore: synchronous, a physical device or none", producer: MindSpore, by: ByName,
		files: named("Net/device_3/iteration_1/a_output_0_shape_1_2_Float32_NCHW.bin", "Net/iteration_1/a_output_0_shape_1_2_Float32_NCHW.bin"),
		rounds: []string{
			"step 1 model Net: a(o0)", "rank 3 step 1 model Net: a(o0)",
		},
	},
	{
		name: "MindSpore: asynchronous, oldest", producer: MindSpore, by: ByExecution,
		files: map[string]string{
			"7/ResNet50_graph_0/0/3/Conv2D.Default_conv1_Conv2D-op515.58.16." + stamp2: "x",
			"7/ResNet50_graph_0/0/3/ReLU.Default_relu_ReLU-op516.58." + stamp1:         "x",
			"7/execution_order/ms_execution_order_graph_0.csv":                         "Default/conv1/Conv2D-op515\nDefault/relu/ReLU-op516\n",
			"7/execution_order/ms_execution_order_graph_1.csv":                         "Default/other/Add-op1\n",
		},
		rounds: []string{"rank 7 step 3 graph 0 model ResNet50: Default_conv1_Conv2D-op515(*) Default_relu_ReLU-op516(*)"},
	},
	{
		name: "MindSpore: last segments, two ranks, two graphs", producer: MindSpore, by: ByExecution,
		files: map[string]string{
			"rank_0/Net/0/2/Cast.Cast-op2.0.0." + stamp1 + ".output.0.DefaultFormat.npy":        "x",
			"rank_0/Net/0/2/Add.Add-op1.0.0." + stamp2 + ".output.0.DefaultFormat.npy":          "x",
			"rank_0/Net/0/2/Add.Add-op1.0.0." + stamp3 + ".input.0.DefaultFormat.npy":           "x",
			"rank_0/Net/1/2/Cast.Cast-op2.0.0." + stamp1 + ".output.0.DefaultFormat.npy":        "x",
			"rank_0/Net/1/2/Add.Add-op1.0.0." + stamp2 + ".output.0.DefaultFormat.npy":          "x",
			"rank_0/execution_order/ms_execution_order_graph_0.csv":                             "NodeExecutionOrder-FullNameWithScope\nDefault/a/Add-op1\nDefault/b/Cast-op2\n",
			"rank_0/execution_order/ms_execution_order_graph_1.csv":                             "Default/b/Cast-op2\nDefault/a/Add-op1\n",
			"rank_0/execution_order/ms_global_execution_order_graph_0.csv":                      "0\n1\n2\n",
			"rank_0/.dump_metadata/data_dump.json":                                              "{}",
			"rank_0/debug_files/2/Opdebug.Node_OpDebug.0.0." + stamp1 + ".output.0.json":        "{}",
			"rank_0/Net/0/2/Conv2D.Conv2D-op9.json":                                             "{}",
			"rank_1/Net/0/2/Cast.Cast-op2.0.0." + stamp1 + ".output.0.DefaultFormat.npy":        "x",
			"rank_1/Net/0/2/Add.Add-op1.0.0." + stamp2 + ".output.0.DefaultFormat.npy":          "x",
			"rank_1/execution_order/ms_execution_order_graph_0.csv":                             "Default/b/Cast-op2\nDefault/a/Add-op1\n",
			"rank_0/Net/0/constants/Parameter.data-5.0.0.1733905446000000.output.0.ND.int8.npy": "x",
		},
		rounds: []string{
			"rank 0 graph 0 model Net: data-5(o0)",
			"rank 0 step 2 graph 0 model Net: Add-op1(i0,o0) Cast-op2(o0)",
			"rank 0 step 2 graph 1 model Net: Cast-op2(o0) Add-op1(o0)",
			"rank 1 step 2 graph 0 model Net: Cast-op2(o0) Add-op1(o0)",
		},
	},
	{
		name: "MindSpore: statistics beside tensors and without", producer: MindSpore, by: ByTimestamp,
		files: map[string]string{
			"rank_0/Net/0/2/Add.a_Add-op1.0.0." + stamp1 + ".output.0.DefaultFormat.float32.npy": "x",
			"rank_0/Net/0/2/statistic.csv": "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,L2Norm Value,\n" +
				"Add,a/Add-op1,0,0," + stamp1 + ",output,0,24,float32,\"(2, 3)\",1.5,-2,null,\n" +
				"ReLU,a/ReLU-op2,0,0," + stamp2 + ",input,0,24,bfloat16,\"(2,3)\",nan,inf,3,\n",
		},
		rounds: []string{"rank 0 step 2 graph 0 model Net: a_Add-op1(o0) a/ReLU-op2(i0t)"},
	},
	{
		name: "MindSpore: the step itself was given", producer: MindSpore, by: ByTimestamp, below: "rank_2/Net/0/9",
		files:  named("rank_2/Net/0/9/A.x.1.2."+stamp1, "rank_2/Net/0/9/A.y.1.2."+stamp2),
		rounds: []string{"rank 2 step 9 graph 0 model Net: x(*) y(*)"},
	},
	{
		name: "msprobe", producer: MSProbe, by: ByDumpJSON,
		files: map[string]string{
			"step0/rank1/dump.json": `{"task": "tensor", "data": {
				"Torch.b.0.forward": {"input_args": [{"type": "int", "value": 3}, null], "output": [[
					{"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2], "Max": Infinity, "Mean": NaN, "Min": -Infinity, "data_name": "Torch.b.0.forward.output.0.0.pt"}]]},
				"Module.a.Linear.forward.0": {"parameters": {"bias": {"type": "T", "dtype": "float32", "shape": [], "data_name": "Module.a.Linear.forward.0.parameters.bias.pt"}}},
				"Module.a.Linear.parameters_grad.0": {}}}`,
			"step0/rank1/stack.json": "{}",
			"step0/rank1/dump_tensor_data/Module.a.Linear.forward.0.input.0.pt":         "x",
			"step0/rank1/dump_tensor_data/Module.a.Linear.forward.0.parameters.bias.pt": "x",
			"step0/rank1/dump_tensor_data/Module.a.Linear.parameters_grad.0.bias.npy":   "x",
			"step0/rank1/dump_tensor_data/Torch.b.0.forward.output.0.1.pt":              "x",
			"step0/rank1/dump_tensor_data/Torch.b.0.forward.output.0.0.pt":              "x",
			"step1/proc77/dump.json": `{"task": "statistics", "data": {
				"Torch.c.0.forward": {"input_kwargs": {"x": {"type": "T", "dtype": "float32", "shape": [1]}}}, "Torch.b.0.forward": {"output": [{"type": "T", "dtype": "float32", "shape": []}]}, "Torch.n.0.forward": {"output": [null]}}}`,
		},
		rounds: []string{
			"step 1: Torch.c.0.forward(i0xt) Torch.b.0.forward(o0t)",
			"rank 1 step 0: Torch.b.0.forward(o00,o01) Module.a.Linear.forward.0(i0,p0bias) Module.a.Linear.parameters_grad.0(g0bias)",
		},
	},
	{
		name: "ptdbg_ascend", producer: MSProbe, by: ByDumpJSON,
		files: map[string]string{
			"ptdbg_dump_v4.0/step0/rank1/api_stack_dump.pkl": `["Torch_b_0_forward_output", 1, [], "torch.float32", [2], [2.0, 1.0, 1.5]]
["Torch_b_0_forward_stack_info", [["/train.py", "3", "main", "torch.b()"]]]
["Tensor___add___1_forward_input.1", 1, [], "torch.float32", [2], [2.0, 1.0, 1.5]]
`,
			"ptdbg_dump_v4.0/step0/rank1/api_stack_dump/Torch_b_0_forward_output.npy":         "x",
			"ptdbg_dump_v4.0/step0/rank1/api_stack_dump/Tensor___add___1_forward_input.1.npy": "x",
			"ptdbg_dump_v4.0/step1/rank1/dump.pkl": `["Torch_c_0_backward_output.0", 1, [], "torch.float16", [2], [2.0, 1.0, 1.5, 2.5]]
`,
			"ptdbg_dump_v4.0/step1/rank1/other.pkl": "\x80\x04]q\x00.",
		},
		rounds: []string{
			"rank 1 step 0: Torch.b.0.forward(o0) Tensor.__add__.1.forward(i1)",
			"rank 1 step 1: Torch.c.0.backward(o0t)",
		},
	},
	{
		name: "ATB", producer: ATB, by: ByID,
		files: named(
			"atb_dump_data/data/2_4711/0/0_WordEmbedding/0_GatherOperation/before/intensor0.bin",
			"atb_dump_data/data/2_4711/0/0_WordEmbedding/0_GatherOperation/after/outtensor0.bin",
			"atb_dump_data/data/2_4711/0/0_WordEmbedding/0_GatherOperation/after/intensor0_kv.bin",
			"atb_dump_data/data/2_4711/0/10_Linear/before/intensor1.bin",
			"atb_dump_data/data/2_4711/0/2_Norm/after/outtensor0.bin",
			"atb_dump_data/data/2_4711/0/0_WordEmbedding/after/outtensor0.bin",
			"atb_dump_data/data/2_4711/1/2_Norm/after/outtensor0.bin",
		),
		rounds: []string{
			"rank 2 step 0: 0_WordEmbedding(o0) 0_WordEmbedding/0_GatherOperation(i0,i0after,o0) 2_Norm(o0) 10_Linear(i1)",
			"rank 2 step 1: 2_Norm(o0)",
		},
	},
	{
		name: "ATB: statistics only", producer: ATB, by: ByStatistics,
		files: map[string]string{
			"atb_dump_data/data/2_4711/3/statistic.csv": "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,Tensor Path\n" +
				"2_4711,3,Word/Gather,GatherOperation,1_0,intensor,0,float16,nd,\"2,3\",1,0,0.5,2,N/A\n" +
				"2_4711,3,Norm,Norm,0,outtensor,1,float16,nd,\"2,3\",1,0,0.5,2,N/A\n",
		},
		rounds: []string{"rank 2 step 3: 1_Word/0_Gather(i0t) 0_Norm(o1t)"},
	},
	{
		name: "ATB: statistics beside tensors", producer: ATB, by: ByStatistics,
		files: map[string]string{
			"atb_dump_data/data/2_4711/3/statistic.csv": "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,Tensor Path\n" +
				"2_4711,3,Norm,Norm,1,outtensor,0,float16,nd,\"2,3\",1,0,0.5,2,N/A\n" +
				"2_4711,3,Word/Gather,Gather,0_0,intensor,0,float16,nd,\"2,3\",1,0,0.5,2,N/A\n",
			"atb_dump_data/data/2_4711/3/1_Norm/after/outtensor0.bin":          "x",
			"atb_dump_data/data/2_4711/3/0_Word/0_Gather/before/intensor0.bin": "x",
		},
		rounds: []string{"rank 2 step 3: 1_Norm(o0) 0_Word/0_Gather(i0)"},
	},
	{
		name: "HPAA", producer: HPAA, by: ByRuntime, below: "npu",
		files: map[string]string{
			"npu/net_b.npy": "x", "npu/net_a.npy": "x", "npu/net_c.npy": "x",
			"cpu/net_a.npy": "x", "result/node_runtime.file": "net/b,1\nnet/a,2\n",
		},
		rounds: []string{": net_b(o0) net_a(o0) net_c(o0)"},
	},
	{
		name: "HPAA: the whole folder", producer: HPAA, by: ByRuntime,
		files: map[string]string{
			"npu/b.npy": "x", "npu/a.npy": "x", "cpu/a.npy": "x",
			"result/node_runtime.file": "b\na\n", "result/cpu_vs_npu.csv": "x", "result/a.npy": "x",
		},
		rounds: []string{"folder cpu: a(o0)", "folder npu: b(o0) a(o0)"},
	},
	{
		name: "arrays: numbers in the names", producer: Arrays, by: ByNumber,
		files:  named("10_relu.npy", "9-add.npy", "011.mul.npy"),
		rounds: []string{": 9-add(o0) 10_relu(o0) 011.mul(o0)"},
	},
	{
		name: "arrays: names that differ in a dot, and one in two files", producer: Arrays, by: ByName,
		files:  named("net.a.npy", "net_a.npy", "b.npy", "b.bin"),
		rounds: []string{": b(o0,o0) net.a(o0) net_a(o0)"},
	},
	{
		name: "arrays: ranks and steps", producer: Arrays, by: ByName,
		files:  named("rank0/step_1/a.npy", "rank0/step_1/b.npy", "device_1/iteration_01/a.npy"),
		rounds: []string{"rank 0 step 1: a(o0) b(o0)", "rank 1 step 1: a(o0)"},
	},
	{
		name: "arrays: SGLang's names", producer: Arrays, by: BySequence,
		files: named("name=x___step=3___rank=0___dump_index=10.pt", "name=x___step=3___rank=0___dump_index=2.pt", "name=a___step=3___rank=0___dump_index=7___layer_id=1.pt",
			"name=x___step=03___rank=1___dump_index=1.pt"),
		rounds: []string{"rank 0 step 3: x#1(*) a.layer_id=1(*) x#2(*)", "rank 1 step 3: x(*)"},
	},
	{
		name: "arrays: folders that repeat tensors are rounds", producer: Arrays, by: ByName,
		files:  named("x/one/a.npy", "x/two/a.npy", "x/two/b.npy"),
		rounds: []string{"folder one: a(o0)", "folder two: a(o0) b(o0)"},
	},
	{
		name: "arrays: folders that do not are one", producer: Arrays, by: ByName,
		files:  named("encoder/a.npy", "decoder/b.npy", "c.bin"),
		rounds: []string{": a(o0) b(o0) c(o0)"},
	},
}

func TestProducers(t *testing.T) {
	known := map[Producer]bool{}
	for _, test := range trees {
		known[test.producer] = true
		t.Run(test.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "given")
			write(t, root, test.files)
			r := openAt(t, filepath.Join(root, test.below), Options{})
			if diff := cmp.Diff(test.rounds, rounds(r)); diff != "" {
				t.Error(diff)
			}
			for _, round := range r.Rounds {
				if by := round.Order.By; by != test.by && len(round.Ops) > 1 {
					t.Errorf("%s is ordered by %s (%s), want %s; rejected %q", round.At, by, round.Order.Source, test.by, round.Order.Rejected)
				}
			}
			if len(r.Producers) != 1 || r.Producers[0] != test.producer {
				t.Errorf("producers %q, want %s", r.Producers, test.producer)
			}
			for _, p := range r.Problems {
				t.Errorf("problem: %s", p.Error())
			}
		})
	}
	for _, p := range producers {
		if !known[p.name] {
			t.Errorf("no tree of %s", p.name)
		}
	}
}

// TestSeveralProducers: a tree of MindSpore with dumps of CANN and arrays is one run.
func TestSeveralProducers(t *testing.T) {
	r := open(t, named("rank_0/Net/0/2/A.x.1.2."+stamp1, "20200808163566/1/net/11/0/A.x.1.2."+stamp1, "own/x.npy"))
	if diff := cmp.Diff([]Producer{MindSpore, CANN, Arrays}, r.Producers); diff != "" {
		t.Error(diff)
	}
	want := []string{": x(o0)", "rank 0 step 2 graph 0 model Net: x(*)", "rank 1 step 0 graph 11 model net: x(*)"}
	if diff := cmp.Diff(want, rounds(r)); diff != "" {
		t.Error(diff)
	}
}

// TestRecords: overflow records of every producer are no tensors, and have the round of their
// folders.
func TestRecords(t *testing.T) {
	r := open(t, named("rank_0/Net/0/2/A.x.1.2."+stamp1, "rank_0/Net/0/2/Opdebug.Node_OpDebug.1.2."+stamp1,
		"rank_0/debug_files/2/Opdebug.Node_OpDebug.0.0."+stamp1+".output.0.json", "rank_0/debug_files/2/OpDebug.Node_Opdebug.1.2"))
	var got []string
	for _, record := range r.Records {
		got = append(got, record.At.String()+": "+record.File.Name)
	}
	want := []string{
		"rank 0 step 2 graph 0 model Net: Opdebug.Node_OpDebug.1.2." + stamp1,
		"rank 0 step 2: OpDebug.Node_Opdebug.1.2",
		"rank 0 step 2: Opdebug.Node_OpDebug.0.0." + stamp1 + ".output.0.json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"rank 0 step 2 graph 0 model Net: x(*)"}, rounds(r)); diff != "" {
		t.Error(diff)
	}
}

// TestProducts: an array beside the dump that it was converted from, or in a folder of outputs, is
// a product, whatever layout its name has.
func TestProducts(t *testing.T) {
	dump := "20200808163566/0/net/11/0/Add.x.1.2." + stamp1
	r := open(t, named(dump, dump+".output.0.npy", dump+".output.0.NC1HWC0.float16.npy", dump+".input.0.NC1HWC0.float16.npy",
		"out/Add.x.1.2."+stamp1+".output.0.npy", "out/Add.x.1.2."+stamp1+".safetensors", "20200808163566/0/net/11/1/Add.x.1.2."+stamp1+".output.0.npy"))
	want := []string{"rank 0 step 0 graph 11 model net: x(*)", "rank 0 step 1 graph 11 model net: x(o0)"}
	if diff := cmp.Diff(want, rounds(r)); diff != "" {
		t.Error(diff)
	}
	products := 0
	for _, f := range r.Files {
		if f.Role == Product {
			products++
		}
	}
	if products != 5 {
		t.Errorf("%d products, want 5", products)
	}
}

// TestRecordsOfRecords: JSON converted from a record in the run is a product.
func TestRecordsOfRecords(t *testing.T) {
	record := "Opdebug.Node_OpDebug.1.2." + stamp1
	r := open(t, named("rank_0/Net/0/2/"+record, "rank_0/Net/0/2/"+record+".output.0.json", "out/"+record+".output.0.json",
		"rank_0/Net/0/3/"+record+".output.0.json"))
	var got []string
	for _, record := range r.Records {
		got = append(got, record.At.String()+": "+record.File.Name)
	}
	want := []string{"rank 0 step 2 graph 0 model Net: " + record, "rank 0 step 3 graph 0 model Net: " + record + ".output.0.json"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNoRaw: files of elements without a header are no tensors if neither name nor user gives their
// type. Names of synchronous dumps and headers of ATB give it.
func TestNoRaw(t *testing.T) {
	root := t.TempDir()
	write(t, root, named("a.bin", "notes.txt", "A.x.1.2."+stamp1+".output.0.bin", "b.npy", "c_output_0_shape_2_Float16_DefaultFormat.bin"))
	for noRaw, want := range map[bool]string{false: ": a(o0) b(o0) c(o0) notes(o0) x(o0)", true: ": b(o0) c(o0)"} {
		if diff := cmp.Diff([]string{want}, rounds(openAt(t, root, Options{NoRaw: noRaw}))); diff != "" {
			t.Errorf("%v: %s", noRaw, diff)
		}
	}
}

// TestDeviceOfName: the device of a sliced operator comes from its name if the folders have none.
func TestDeviceOfName(t *testing.T) {
	r := open(t, named("A.x.1.2."+stamp1+".4.1.0.6"))
	if diff := cmp.Diff([]string{"rank 6: x(*)"}, rounds(r)); diff != "" {
		t.Error(diff)
	}
}

// TestPathsAboveTheTree: a number above a start time is a step only below the given path, and
// folders below the given path count before folders above it.
func TestPathsAboveTheTree(t *testing.T) {
	root := filepath.Join(t.TempDir(), "step_9", "rank_8", "12")
	write(t, root, named("20200808163566/0/net/11/3/A.x.1."+stamp1))
	for below, want := range map[string]string{
		".":                "rank 0 step 3 graph 11 model net: x(*)",
		"20200808163566/0": "rank 8 step 3 graph 11 model net: x(*)",
	} {
		r := openAt(t, filepath.Join(root, below), Options{})
		if diff := cmp.Diff([]string{want}, rounds(r)); diff != "" {
			t.Errorf("%s: %s", below, diff)
		}
	}
}

// TestFoldersAboveTheDump: the names of folders count from the given path on upwards as far as the
// user wrote them and they belong to the dump. A run may lie in a folder named rank49 by chance.
func TestFoldersAboveTheDump(t *testing.T) {
	dump := "A.x.1.2." + stamp1 + ".output.0.npy"
	root := t.TempDir()
	write(t, root, named("rank49/testdata/network/npu/"+dump, "step49/rank_3/npu/"+dump, "step49/rank_3/net/11/7/"+dump,
		"rank49/a/20200808163566/0/net/11/3/"+dump))
	for _, test := range []struct{ in, given, want string }{
		{".", "/rank49/testdata/network/npu", ": x(o0)"},
		{".", "/rank49/testdata/network/npu/" + dump, ": x(o0)"},
		{".", "rank49/testdata/network", ": x(o0)"},
		{"rank49/testdata", "network/npu", ": x(o0)"},
		{"rank49/testdata/network", "npu", ": x(o0)"},
		{".", "/step49/rank_3/npu", "rank 3 step 49: x(o0)"},
		{".", "/step49/rank_3/npu/" + dump, "rank 3 step 49: x(o0)"},
		{"step49", "rank_3/npu", "rank 3: x(o0)"},
		{"step49", "./rank_3/../rank_3/npu", "rank 3: x(o0)"},
		{"step49/rank_3", "npu", ": x(o0)"},
		{"step49/rank_3/npu", ".", ": x(o0)"},
		{"step49/rank_3/npu", "../../rank_3/npu", "rank 3: x(o0)"},
		{".", "/step49/rank_3/net/11/7", "rank 3 step 7 graph 11 model net: x(o0)"},
		{".", "/rank49/a/20200808163566/0/net/11/3", "rank 0 step 3 graph 11 model net: x(o0)"},
	} {
		t.Chdir(filepath.Join(root, test.in))
		given := test.given
		if strings.HasPrefix(given, "/") {
			given = root + given
		}
		if diff := cmp.Diff([]string{test.want}, rounds(openAt(t, given, Options{}))); diff != "" {
			t.Errorf("%s in %s: %s", test.given, test.in, diff)
		}
	}
}

// TestCutDumpJSON: the complete entries of a truncated dump.json count.
func TestCutDumpJSON(t *testing.T) {
	r := open(t, map[string]string{
		"dump.json":                     `{"task": "t", "data": {"B": {"x": [NaN, "}"]}, "A": {}, "C": {"cut`,
		"dump_tensor_data/A.input.0.pt": "x", "dump_tensor_data/B.input.0.pt": "x", "dump_tensor_data/C.input.0.pt": "x",
	})
	if diff := cmp.Diff([]string{": B(i0) A(i0) C(i0)"}, rounds(r)); diff != "" {
		t.Error(diff)
	}
	if len(r.Problems) != 1 || r.Problems[0].Kind != Unreadable || !strings.Contains(r.Problems[0].Error(), "dump.json: ") {
		t.Errorf("problems %v", r.Problems)
	}
}
