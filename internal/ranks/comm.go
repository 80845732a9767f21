package ranks

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/format/msprobe"
	"dumptool/internal/tensor"
)

// pattern is who gets what in a communication.
type pattern uint8

const (
	unchecked     pattern = iota // objects, barriers
	allReduce                    // everybody the reduction of all
	reduceRoot                   // the root the reduction of all
	reduceScatter                // member i part i of the reduction
	allGather                    // everybody all inputs, joined
	gatherRoot                   // the root all inputs, joined
	scatterRoot                  // member i part i of what the root has
	broadcast                    // everybody what the root has
	allToAll                     // member i part i of each input, joined
	send                         // one other rank
	receive                      // from one other rank
	sendReceives                 // several sends and receives
)

// sums reports whether a communication reduces what its members have.
func (p pattern) sums() bool { return p == allReduce || p == reduceScatter || p == reduceRoot }

// isPair reports whether it is one from a rank to another.
func (p pattern) isPair() bool { return p == send || p == receive }

// api is what is known of a function of torch.distributed, of MindSpore's
// communication, or of an operator of HCCL.
type api struct {
	names []string // the first names the others in events
	pattern
	// in and out are the positions of what is sent and of what is received among the
	// arguments; inName and outName their keywords. One that has no buffer for what is
	// received, and returns it, has the input at position 0.
	in, out         int
	inName, outName string
	// root, op and group are the positions of these arguments, -1 for none.
	root, op, group int
	rootName        string
}

// apis are those of torch.distributed, with the positions of its signatures; mint of
// MindSpore has the same, and communication.comm_func others of the same names, which
// return what is received.
var apis = []api{
	{[]string{"all_reduce", "HcomAllReduce", "HorovodAllreduce"}, allReduce, 0, 0, "tensor", "tensor", -1, 1, 2, ""},
	{[]string{"reduce", "HcomReduce"}, reduceRoot, 0, 0, "tensor", "tensor", 1, 2, 3, "dst"},
	{[]string{"reduce_scatter_tensor", "_reduce_scatter_base", "HcomReduceScatter", "HcomReduceScatterV"}, reduceScatter, 1, 0, "input", "output", -1, 2, 3, ""},
	{[]string{"reduce_scatter"}, reduceScatter, 1, 0, "input_list", "output", -1, 2, 3, ""},
	{[]string{"all_gather_into_tensor", "_all_gather_base", "HcomAllGather", "HcomAllGatherV", "HorovodAllgather"}, allGather, 1, 0, "input_tensor", "output_tensor", -1, -1, 2, ""},
	{[]string{"all_gather"}, allGather, 1, 0, "tensor", "tensor_list", -1, -1, 2, ""},
	{[]string{"gather", "gather_into_tensor", "HcomGather"}, gatherRoot, 0, 1, "tensor", "gather_list", 2, -1, 3, "dst"},
	{[]string{"scatter", "scatter_tensor"}, scatterRoot, 1, 0, "scatter_list", "tensor", 2, -1, 3, "src"},
	{[]string{"broadcast", "HcomBroadcast", "HorovodBroadcast"}, broadcast, 0, 0, "tensor", "tensor", 1, -1, 2, "src"},
	{[]string{"all_to_all"}, allToAll, 1, 0, "input_tensor_list", "output_tensor_list", -1, -1, 2, ""},
	{[]string{"all_to_all_single", "all_to_all_single_with_output_shape", "HcomAllToAll", "HcomAllToAllV"}, allToAll, 1, 0, "input", "output", -1, -1, 4, ""},
	{[]string{"send", "isend", "HcomSend"}, send, 0, 0, "tensor", "tensor", 1, -1, 2, "dst"},
	{[]string{"recv", "irecv", "HcomReceive"}, receive, 0, 0, "tensor", "tensor", 1, -1, 2, "src"},
	{[]string{"batch_isend_irecv"}, sendReceives, 0, 0, "p2p_op_list", "p2p_op_list", -1, -1, -1, ""},
	{[]string{"barrier", "all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list", "monitored_barrier", "HcomAllToAllVC", "HcomGatherAllToAllV"}, unchecked, 0, 0, "", "", -1, -1, -1, ""},
}

// apiOf finds an api by its name, nil for none.
func apiOf(name string) *api {
	i := slices.IndexFunc(apis, func(a api) bool { return slices.Contains(a.names, name) })
	if i < 0 {
		return nil
	}
	return &apis[i]
}

// reduction is how a communication makes one number of several.
type reduction uint8

const (
	noReduction reduction = iota // one that is not known
	sum
	avg
	maximum
	minimum
	product
)

// of is the reduction of two numbers; the average of them is made of the sum in the end.
func (r reduction) of(a, b float64) float64 {
	switch r {
	case maximum:
		return max(a, b)
	case minimum:
		return min(a, b)
	case product:
		return a * b
	}
	return a + b
}

var reductions = map[string]reduction{
	"sum": sum, "add": sum, "avg": avg, "mean": avg, "max": maximum, "min": minimum, "prod": product, "product": product,
}

// Comm is what a communication does.
type Comm struct {
	api *api
	// Name is the function as the dump has it.
	Name string
	// Group are the ranks that take part, in their order; nil for all of the run, or
	// where it is not known. GroupName is what the dump calls such a group.
	Group     []int
	GroupName string
	// Root is the rank of the root or of the other side, -1 where the call has none.
	Root, Tag int
	Op        reduction
	In, Out   []*Tensor
	// Sent and Received are the splits along the first axis, nil for equal ones.
	Sent, Received []int64
	// untold is set where only tensors are known: splits are then what their rows say.
	untold bool
	// parts are the sends and receives of a batch.
	parts []*Comm
}

// each are the sends and receives of a batch, else the communication alone; none of an operator.
func (c *Comm) each() []*Comm {
	switch {
	case c == nil:
		return nil
	case c.api.pattern == sendReceives:
		return c.parts
	}
	return []*Comm{c}
}

// worldNames are the names of the group of all ranks.
var worldNames = map[string]bool{"": true, "None": true, "hccl_world_group": true, "nccl_world_group": true, "WORLD": true}

// callAPI is the name of the function of a communication such as
// Distributed.all_reduce.0.forward, empty for other calls.
func callAPI(name string) string {
	rest, ok := strings.CutPrefix(name, commPrefix+".")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(rest, ".")
	return name
}

// commOf is a communication of which the function alone is known.
func commOf(name string) *Comm {
	return &Comm{api: cmp.Or(apiOf(name), &api{names: []string{name}}), Name: name, Root: -1, Op: sum}
}

// newComm reads the arguments of a communication of msprobe. Tensors of the call are
// found by their names.
func newComm(name string, leaves []msprobe.Leaf, tensors map[string]*Tensor) *Comm {
	c := commOf(name)
	a := arguments{leaves, tensors}
	if c.api.pattern == sendReceives {
		c.readBatch(&a)
		return c
	}
	if c.api.pattern == unchecked {
		return c
	}
	c.In, c.Out = a.tensors(tensor.Input, c.api.in, c.api.inName), a.tensors(tensor.Output, c.api.out, c.api.outName)
	if len(c.In) == 0 && c.api.in > 0 { // one that returns what is received
		c.In = a.tensors(tensor.Input, 0, c.api.outName)
	}
	if len(c.Out) == 0 {
		c.Out = a.tensors(tensor.Output, 0, "")
	}
	if l := a.find(c.api.group, "group"); l != nil {
		switch {
		case l.Group != nil:
			c.Group = l.Group
		case !worldNames[l.Text]:
			c.GroupName = l.Text
		}
	}
	if l := a.find(c.api.root, c.api.rootName, c.api.rootName+"_rank"); l != nil {
		c.Root = int((&msprobe.Leaf{Value: l}).NumberOr(-1))
	}
	if l := a.find(-1, "tag"); l != nil {
		c.Tag = int((&msprobe.Leaf{Value: l}).NumberOr(0))
	}
	if l := a.find(c.api.op, "op"); l != nil && c.api.op >= 0 {
		c.Op = reductionOf(l.Text)
	}
	if c.api.pattern == allToAll {
		c.Received, c.Sent = a.numbers(2, "output_split_sizes"), a.numbers(3, "input_split_sizes")
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
		part := &Comm{api: apiOf(l.P2P.Op), Name: l.P2P.Op, Root: l.P2P.Peer, Tag: l.P2P.Tag, Op: sum}
		switch {
		case part.api == nil:
			continue
		case part.api.pattern == send && t != nil:
			part.In = []*Tensor{t}
		case part.api.pattern == receive:
			part.Out = a.tensorsAt(tensor.Output, l.Path)
		}
		c.parts = append(c.parts, part)
	}
}

// reductionOf is a reduction by its text, such as RedOpType.SUM.
func reductionOf(text string) reduction {
	text = strings.ToLower(text[strings.LastIndexByte(text, '.')+1:])
	return reductions[text]
}

// arguments are those of a call.
type arguments struct {
	leaves []msprobe.Leaf
	byName map[string]*Tensor
}

// tensorsAt are the tensors at a path of the arguments, and those in it.
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

// tensors are those of an argument by its place or its keyword.
func (a *arguments) tensors(kind tensor.Kind, at int, name string) []*Tensor {
	if all := a.tensorsAt(kind, itoa(at)); len(all) > 0 || name == "" {
		return all
	}
	return a.tensorsAt(kind, name)
}

// find is the value of an argument by its place or its keywords, nil for none.
func (a *arguments) find(at int, names ...string) *msprobe.Value {
	for i := range a.leaves {
		l := &a.leaves[i]
		if l.Kind != tensor.Input || l.Value == nil {
			continue
		}
		if at >= 0 && l.Path == itoa(at) || l.Path != "" && slices.Contains(names, l.Path) {
			return l.Value
		}
	}
	return nil
}

// numbers are those of a list by its place or its keyword, nil for none.
func (a *arguments) numbers(at int, name string) (all []int64) {
	for i := range a.leaves {
		l := &a.leaves[i]
		head, _, inside := strings.Cut(l.Path, ".")
		if l.Kind == tensor.Input && l.Value != nil && inside && (head == itoa(at) || head == name) {
			all = append(all, int64(l.NumberOr(-1)))
		}
	}
	return all
}

// typeAPI is the api of an operator of HCCL by its type, nil for others.
func typeAPI(typ string) *api {
	if !strings.HasPrefix(typ, "Hcom") && !strings.HasPrefix(typ, "Horovod") {
		return nil
	}
	return apiOf(typ)
}
