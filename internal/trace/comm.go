package trace

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/tensor"
)

// Pattern says which member of a communication gets which data.
type Pattern uint8

// Values of Pattern.
const (
	Unchecked     Pattern = iota // objects, barriers
	AllReduce                    // all members: the reduction of all inputs
	ReduceRoot                   // the root: the reduction of all inputs
	ReduceScatter                // member i: part i of the reduction
	AllGather                    // all members: all inputs, joined
	GatherRoot                   // the root: all inputs, joined
	ScatterRoot                  // member i: part i of the root's input
	Broadcast                    // all members: the root's input
	AllToAll                     // member i: part i of each input, joined
	Send                         // to another rank
	Receive                      // from another rank
	SendReceives                 // several sends and receives
)

// Sums reports whether the inputs of the members are reduced to one result.
func (p Pattern) Sums() bool { return p == AllReduce || p == ReduceScatter || p == ReduceRoot }

// IsPair reports whether one rank sends to another.
func (p Pattern) IsPair() bool { return p == Send || p == Receive }

// API is a function of torch.distributed or of MindSpore's communication, or an operator of HCCL.
type API struct {
	Names []string // the first name identifies events
	Pattern
	// in and out are the positions of the sent and the received tensors among the arguments; inName and outName are
	// their keywords. A function that returns the received tensors has no argument for them, and the sent tensors at
	// position 0.
	in, out         int
	inName, outName string
	// root, op and group are the positions of these arguments, -1 for none.
	root, op, group int
	rootName        string
}

// apis have the positions of torch.distributed, which MindSpore's mint shares. MindSpore's communication.comm_func
// has functions of the same names that return the received tensors.
var apis = []API{
	{[]string{"all_reduce", "HcomAllReduce", "HorovodAllreduce"}, AllReduce, 0, 0, "tensor", "tensor", -1, 1, 2, ""},
	{[]string{"reduce", "HcomReduce"}, ReduceRoot, 0, 0, "tensor", "tensor", 1, 2, 3, "dst"},
	{[]string{"reduce_scatter_tensor", "_reduce_scatter_base", "HcomReduceScatter", "HcomReduceScatterV"}, ReduceScatter, 1, 0, "input", "output", -1, 2, 3, ""},
	{[]string{"reduce_scatter"}, ReduceScatter, 1, 0, "input_list", "output", -1, 2, 3, ""},
	{[]string{"all_gather_into_tensor", "_all_gather_base", "HcomAllGather", "HcomAllGatherV", "HorovodAllgather"}, AllGather, 1, 0, "input_tensor", "output_tensor", -1, -1, 2, ""},
	{[]string{"all_gather"}, AllGather, 1, 0, "tensor", "tensor_list", -1, -1, 2, ""},
	{[]string{"gather", "gather_into_tensor", "HcomGather"}, GatherRoot, 0, 1, "tensor", "gather_list", 2, -1, 3, "dst"},
	{[]string{"scatter", "scatter_tensor"}, ScatterRoot, 1, 0, "scatter_list", "tensor", 2, -1, 3, "src"},
	{[]string{"broadcast", "HcomBroadcast", "HorovodBroadcast"}, Broadcast, 0, 0, "tensor", "tensor", 1, -1, 2, "src"},
	{[]string{"all_to_all"}, AllToAll, 1, 0, "input_tensor_list", "output_tensor_list", -1, -1, 2, ""},
	{[]string{"all_to_all_single", "all_to_all_single_with_output_shape", "HcomAllToAll", "HcomAllToAllV"}, AllToAll, 1, 0, "input", "output", -1, -1, 4, ""},
	{[]string{"send", "isend", "HcomSend"}, Send, 0, 0, "tensor", "tensor", 1, -1, 2, "dst"},
	{[]string{"recv", "irecv", "HcomReceive"}, Receive, 0, 0, "tensor", "tensor", 1, -1, 2, "src"},
	{[]string{"batch_isend_irecv"}, SendReceives, 0, 0, "p2p_op_list", "p2p_op_list", -1, -1, -1, ""},
	{[]string{"barrier", "all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list", "monitored_barrier", "HcomAllToAllVC", "HcomGatherAllToAllV"}, Unchecked, 0, 0, "", "", -1, -1, -1, ""},
}

// APIOf returns the function with a name, nil for none.
func APIOf(name string) *API {
	i := slices.IndexFunc(apis, func(a API) bool { return slices.Contains(a.Names, name) })
	if i < 0 {
		return nil
	}
	return &apis[i]
}

// Reduction is the operation of a reducing communication.
type Reduction uint8

// Values of Reduction.
const (
	NoReduction Reduction = iota // an unknown reduction
	Sum
	Avg
	Maximum
	Minimum
	Product
)

// Combine reduces two numbers. An average is a sum; the division comes at the end.
func (r Reduction) Combine(a, b float64) float64 {
	switch r {
	case Maximum:
		return max(a, b)
	case Minimum:
		return min(a, b)
	case Product:
		return a * b
	}
	return a + b
}

var reductions = map[string]Reduction{
	"sum": Sum, "add": Sum, "avg": Avg, "mean": Avg, "max": Maximum, "min": Minimum, "prod": Product, "product": Product,
}

// Comm describes a communication.
type Comm struct {
	API *API
	// Name is the function in the dump.
	Name string
	// Group has the ranks that take part, in their order; nil for all ranks of the run, or if unknown. GroupName is
	// the name of an unknown group in the dump.
	Group     []int
	GroupName string
	// Root is the rank of the root or of the peer, -1 for none.
	Root, Tag int
	Op        Reduction
	In, Out   []*Tensor
	// Sent and Received are the splits along the first axis, nil for equal splits.
	Sent, Received []int64
	// ArgsMissing: the dump has the tensors of the call, but not its arguments. The splits are found from the rows.
	ArgsMissing bool
	// Parts are the sends and receives of a batch.
	Parts []*Comm
}

// Transfers returns the sends and receives of a batch, else the communication itself; nothing for an operator.
func (c *Comm) Transfers() []*Comm {
	switch {
	case c == nil:
		return nil
	case c.API.Pattern == SendReceives:
		return c.Parts
	}
	return []*Comm{c}
}

// worldNames are the names of the group of all ranks.
var worldNames = map[string]bool{"": true, "None": true, "hccl_world_group": true, "nccl_world_group": true, "WORLD": true}

// CallAPI returns the function of a communication such as Distributed.all_reduce.0.forward, empty for other calls.
func CallAPI(name string) string {
	rest, ok := strings.CutPrefix(name, commPrefix)
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(rest, ".")
	return name
}

// CommOf makes a communication from the name of its function alone.
func CommOf(name string) *Comm {
	return &Comm{API: cmp.Or(APIOf(name), &API{Names: []string{name}}), Name: name, Root: -1, Op: Sum}
}

// NewComm reads the arguments of a communication in msprobe's dump. tensors has the tensors of the call by name.
func NewComm(name string, leaves []msprobe.Leaf, tensors map[string]*Tensor) *Comm {
	c := CommOf(name)
	a := arguments{leaves, tensors}
	if c.API.Pattern == SendReceives {
		c.readBatch(&a)
		return c
	}
	if c.API.Pattern == Unchecked {
		return c
	}
	c.In, c.Out = a.tensors(tensor.Input, c.API.in, c.API.inName), a.tensors(tensor.Output, c.API.out, c.API.outName)
	if len(c.In) == 0 && c.API.in > 0 { // the function returns the received tensors
		c.In = a.tensors(tensor.Input, 0, c.API.outName)
	}
	if len(c.Out) == 0 {
		c.Out = a.tensors(tensor.Output, 0, "")
	}
	if l := a.find(c.API.group, "group"); l != nil {
		switch {
		case l.Group != nil:
			c.Group = l.Group
		case !worldNames[l.Text]:
			c.GroupName = l.Text
		}
	}
	if l := a.find(c.API.root, c.API.rootName, c.API.rootName+"_rank"); l != nil {
		c.Root = int((&msprobe.Leaf{Value: l}).NumberOr(-1))
	}
	if l := a.find(-1, "tag"); l != nil {
		c.Tag = int((&msprobe.Leaf{Value: l}).NumberOr(0))
	}
	if l := a.find(c.API.op, "op"); l != nil && c.API.op >= 0 {
		c.Op = ReductionOf(l.Text)
	}
	if c.API.Pattern == AllToAll {
		c.Received, c.Sent = a.numberList(2, "output_split_sizes"), a.numberList(3, "input_split_sizes")
	}
	return c
}

// readBatch reads the sends and receives of a list.
func (c *Comm) readBatch(a *arguments) {
	for i := range a.leaves {
		l := &a.leaves[i]
		t := a.byName[l.Name]
		if l.P2P == nil || l.Kind != tensor.Input {
			continue
		}
		part := &Comm{API: APIOf(l.P2P.Op), Name: l.P2P.Op, Root: l.P2P.Peer, Tag: l.P2P.Tag, Op: Sum}
		switch {
		case part.API == nil:
			continue
		case part.API.Pattern == Send && t != nil:
			part.In = []*Tensor{t}
		case part.API.Pattern == Receive:
			part.Out = a.tensorsAt(tensor.Output, l.Path)
		}
		c.Parts = append(c.Parts, part)
	}
}

// ReductionOf parses a reduction such as RedOpType.SUM.
func ReductionOf(text string) Reduction {
	text = strings.ToLower(text[strings.LastIndexByte(text, '.')+1:])
	return reductions[text]
}

// arguments are the arguments of a call.
type arguments struct {
	leaves []msprobe.Leaf
	byName map[string]*Tensor
}

// tensorsAt returns the tensors at a path of the arguments and below it.
func (a *arguments) tensorsAt(kind tensor.Kind, path string) (all []*Tensor) {
	for i := range a.leaves {
		l := &a.leaves[i]
		if l.Kind == kind && l.Tensor != nil && (l.Path == path || strings.HasPrefix(l.Path, path+".")) {
			if t := a.byName[l.Name]; t != nil {
				all = append(all, t)
			}
		}
	}
	return all
}

// tensors returns the tensors of an argument by its position or its keyword.
func (a *arguments) tensors(kind tensor.Kind, at int, name string) []*Tensor {
	if all := a.tensorsAt(kind, strconv.Itoa(at)); len(all) > 0 || name == "" {
		return all
	}
	return a.tensorsAt(kind, name)
}

// find returns the value of an argument by its position or its keywords, nil for none.
func (a *arguments) find(at int, names ...string) *msprobe.Value {
	for i := range a.leaves {
		l := &a.leaves[i]
		if l.Kind != tensor.Input || l.Value == nil {
			continue
		}
		if at >= 0 && l.Path == strconv.Itoa(at) || l.Path != "" && slices.Contains(names, l.Path) {
			return l.Value
		}
	}
	return nil
}

// numberList returns the numbers of a list by its position or its keyword, nil if there is no such list.
func (a *arguments) numberList(at int, name string) (all []int64) {
	for i := range a.leaves {
		l := &a.leaves[i]
		head, _, inside := strings.Cut(l.Path, ".")
		if l.Kind == tensor.Input && l.Value != nil && inside && (head == strconv.Itoa(at) || head == name) {
			all = append(all, int64(l.NumberOr(-1)))
		}
	}
	return all
}

// typeAPI returns the API of an HCCL operator by its type, nil for other types.
func typeAPI(typ string) *API {
	if !strings.HasPrefix(typ, "Hcom") && !strings.HasPrefix(typ, "Horovod") {
		return nil
	}
	return APIOf(typ)
}

// Communication returns the function that an operator calls to communicate, or the type of an HCCL operator; empty
// for other operators.
func Communication(op *dumpdir.Op) string {
	if name := CallAPI(op.Names()[0]); name != "" || typeAPI(op.Type) == nil {
		return name
	}
	return op.Type
}

// IsCommunication reports whether an operator communicates with other ranks.
func IsCommunication(op *dumpdir.Op) bool { return Communication(op) != "" }
