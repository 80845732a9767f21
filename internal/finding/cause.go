package finding

import "dumptool/internal/lang"

// Code names a reason of a status, or a cause that the diagnosis found.
type Code string

// The codes. Each has a row of causes.
const (
	CalcError     Code = "CALC_ERROR"
	Accumulated   Code = "ACCUMULATED"
	OverflowFP16  Code = "OVERFLOW_FP16"
	Underflow     Code = "UNDERFLOW"
	ModelNaN      Code = "MODEL_NAN"
	NPUNaN        Code = "NPU_NAN"
	Layout        Code = "LAYOUT"
	ZeroOutput    Code = "ZERO_OUTPUT"
	ConstOutput   Code = "CONST_OUTPUT"
	ZeroTail      Code = "ZERO_TAIL"
	Permuted      Code = "PERMUTED"
	Tail          Code = "TAIL"
	Stride        Code = "STRIDE"
	Scale         Code = "SCALE"
	Offset        Code = "OFFSET"
	Negated       Code = "NEGATED"
	Shift         Code = "SHIFT"
	Saturation    Code = "SATURATION"
	Wrap          Code = "WRAP"
	Duplicate     Code = "DUPLICATE"
	Swapped       Code = "SWAPPED"
	BitFlip       Code = "BITFLIP"
	Endian        Code = "ENDIAN"
	DTypeMisread  Code = "DTYPE_MISREAD"
	Bias          Code = "BIAS"
	LayerInputBad Code = "LAYER_INPUT_BAD"
	PrecisionLoss Code = "PRECISION_LOSS"
	Amplified     Code = "AMPLIFIED"
	Random        Code = "RANDOM"
	IndexDiffers  Code = "INDEX_DIFFERS"
	IndexTie      Code = "INDEX_TIE"
	Pole          Code = "POLE"
	Unread        Code = "UNREAD"
	Unwritten     Code = "UNWRITTEN"
	Rows          Code = "ROWS"
	StartedApart  Code = "STARTED_APART"
	// ArgumentsDiffer: both sides call the operator with another argument that is no tensor.
	ArgumentsDiffer Code = "ARGUMENTS_DIFFER"
	Memory          Code = "MEMORY"
	Unrelated       Code = "UNRELATED"
	CameIn          Code = "CAME_IN"
	NotCopied       Code = "NOT_COPIED"
	Magnitude       Code = "MAGNITUDE"
	Exact           Code = "EXACT"
	Flip            Code = "FLIP"
	Drifted         Code = "DRIFTED"
	Unknown         Code = "UNKNOWN"

	// Codes that concern an operator by itself.
	InnerOverflow    Code = "INNER_OVERFLOW"
	OperandBits      Code = "OPERAND_BITS"
	SelfWrong        Code = "SELF_WRONG"
	ReferenceDiffers Code = "REFERENCE_DIFFERS"
	InputDiffers     Code = "INPUT_DIFFERS"

	Gate             Code = "GATE"
	NotStandard      Code = "STANDARD"
	BeyondLimits     Code = "LIMITS"
	StatisticsDiffer Code = "STATISTICS"
	StatisticsOnly   Code = "STATISTICS_ONLY"
	DigestDiffers    Code = "DIGEST"
	Margin           Code = "MARGIN"
	ShapeDiffers     Code = "SHAPE"
	DTypeDiffers     Code = "DTYPE"
	SizeMismatch     Code = "SIZE_MISMATCH"
	SkipKey          Code = "SKIP_KEY"
	Excluded         Code = "EXCLUDED"
	BadHex           Code = "BAD_HEX"
	MissingPiece     Code = "MISSING_PIECE"
	DuplicatePiece   Code = "DUPLICATE_PIECE"
	ConcatShape      Code = "CONCAT_SHAPE"
	NotInModel       Code = "NOT_IN_MODEL"
	PartialSum       Code = "PARTIAL_SUM"
	NotLocated       Code = "NOT_LOCATED"
	ReadError        Code = "READ_ERROR"
	UnsupportedDType Code = "UNSUPPORTED_DTYPE"
)

// Cause describes a code in a few words.
type Cause struct {
	Code  Code
	Words lang.Text
}

// causes has a row for every code.
var causes = []Cause{
	{CalcError, lang.Text{EN: "Calculation error", ZH: "计算错误"}},
	{Accumulated, lang.Text{EN: "Rounding that adds up", ZH: "舍入误差累积"}},
	{OverflowFP16, lang.Text{EN: "Overflow of the NPU's type", ZH: "超出 NPU 类型的范围"}},
	{Underflow, lang.Text{EN: "Small values are lost", ZH: "小数值丢失"}},
	{ModelNaN, lang.Text{EN: "NaN or inf on both sides", ZH: "两侧均有 NaN 或 inf"}},
	{NPUNaN, lang.Text{EN: "NaN or inf on the NPU only", ZH: "仅 NPU 有 NaN 或 inf"}},
	{Layout, lang.Text{EN: "The axes are in another order", ZH: "轴的顺序不同"}},
	{ZeroOutput, lang.Text{EN: "The output is all zeros", ZH: "输出全为 0"}},
	{ConstOutput, lang.Text{EN: "The output is constant", ZH: "输出为常数"}},
	{ZeroTail, lang.Text{EN: "The output ends with zeros", ZH: "输出末尾全为 0"}},
	{Tail, lang.Text{EN: "Errors from one element to the end", ZH: "从某个元素起直到末尾出错"}},
	{Stride, lang.Text{EN: "Errors at regular distances", ZH: "错误间隔规律"}},
	{Permuted, lang.Text{EN: "The same numbers in another order", ZH: "数值相同，顺序不同"}},
	{Scale, lang.Text{EN: "Times a constant", ZH: "相差一个常数倍"}},
	{Offset, lang.Text{EN: "Plus a constant", ZH: "相差一个常数"}},
	{Negated, lang.Text{EN: "The sign is wrong", ZH: "符号相反"}},
	{Shift, lang.Text{EN: "Elements are moved", ZH: "元素整体移位"}},
	{Saturation, lang.Text{EN: "At the limit of the type", ZH: "处于类型的极限"}},
	{Wrap, lang.Text{EN: "Integers wrapped around", ZH: "整数溢出回绕"}},
	{Duplicate, lang.Text{EN: "The tensor of another operator", ZH: "与另一算子的张量相同"}},
	{Swapped, lang.Text{EN: "Swapped with another tensor", ZH: "与另一张量互换"}},
	{BitFlip, lang.Text{EN: "Single bits differ", ZH: "个别比特不同"}},
	{Endian, lang.Text{EN: "The bytes are in the other order", ZH: "字节序相反"}},
	{DTypeMisread, lang.Text{EN: "Read as another type", ZH: "按错误的类型读取"}},
	{Bias, lang.Text{EN: "Differences lean to one side", ZH: "差异偏向一侧"}},
	{LayerInputBad, lang.Text{EN: "The inputs are bad", ZH: "输入已出错"}},
	{PrecisionLoss, lang.Text{EN: "Too few bits", ZH: "精度位数不足"}},
	{Amplified, lang.Text{EN: "The error of the inputs grew", ZH: "输入的误差被放大"}},
	{Random, lang.Text{EN: "Other random numbers", ZH: "随机数不同"}},
	{IndexDiffers, lang.Text{EN: "Other indices, the same results", ZH: "索引不同，结果相同"}},
	{IndexTie, lang.Text{EN: "Indices of equal numbers", ZH: "等值元素的索引不同"}},
	{Unwritten, lang.Text{EN: "Memory that nobody wrote", ZH: "未被写入的内存"}},
	{Pole, lang.Text{EN: "NaN of rounded inputs", ZH: "输入舍入导致的 NaN"}},
	{Unread, lang.Text{EN: "Rows that nothing reads", ZH: "未被读取的行"}},
	{Rows, lang.Text{EN: "The common rows were compared", ZH: "只比对了两侧共有的行"}},
	{StartedApart, lang.Text{EN: "Other input or weights", ZH: "输入或权重不同"}},
	{ArgumentsDiffer, lang.Text{EN: "Called with other arguments", ZH: "调用参数不同"}},
	{Memory, lang.Text{EN: "Another tensor was read", ZH: "读取了另一个张量"}},
	{Unrelated, lang.Text{EN: "Another tensor altogether", ZH: "完全不同的张量"}},
	{CameIn, lang.Text{EN: "Came in from outside", ZH: "来自 dump 之外"}},
	{NotCopied, lang.Text{EN: "Changed by a copy", ZH: "拷贝时改变"}},
	{Magnitude, lang.Text{EN: "Another magnitude", ZH: "数量级不同"}},
	{Exact, lang.Text{EN: "Integers differ", ZH: "整数不同"}},
	{Flip, lang.Text{EN: "Another choice", ZH: "选择不同"}},
	{Drifted, lang.Text{EN: "Drifted apart", ZH: "逐渐偏离"}},
	{Unknown, lang.Text{EN: "No rule explains it", ZH: "没有规则可解释"}},
	{InnerOverflow, lang.Text{EN: "Overflow inside", ZH: "内部溢出"}},
	{OperandBits, lang.Text{EN: "Factors of fewer bits", ZH: "因子位数较少"}},
	{SelfWrong, lang.Text{EN: "Wrong by itself", ZH: "自身计算有误"}},
	{ReferenceDiffers, lang.Text{EN: "Right by itself, the reference differs", ZH: "自身计算正确，与标杆不同"}},
	{InputDiffers, lang.Text{EN: "Right by itself, its inputs differ", ZH: "自身计算正确，输入不同"}},
	{Gate, lang.Text{EN: "A gate does not hold", ZH: "未满足附加门槛"}},
	{NotStandard, lang.Text{EN: "The standard is not met", ZH: "未达到验收标准"}},
	{BeyondLimits, lang.Text{EN: "Beyond the limits", ZH: "超出门限"}},
	{StatisticsDiffer, lang.Text{EN: "The statistics differ", ZH: "统计量不同"}},
	{StatisticsOnly, lang.Text{EN: "Only statistics are known", ZH: "只有统计量"}},
	{DigestDiffers, lang.Text{EN: "The digests differ", ZH: "摘要不同"}},
	{Margin, lang.Text{EN: "Near the limit", ZH: "接近门限"}},
	{ShapeDiffers, lang.Text{EN: "Another shape", ZH: "形状不同"}},
	{DTypeDiffers, lang.Text{EN: "Another element type", ZH: "元素类型不同"}},
	{SizeMismatch, lang.Text{EN: "Another number of elements", ZH: "元素个数不同"}},
	{SkipKey, lang.Text{EN: "Skipped by a key", ZH: "按关键字跳过"}},
	{Excluded, lang.Text{EN: "Excluded by name", ZH: "按名称排除"}},
	{BadHex, lang.Text{EN: "No hex text", ZH: "不是十六进制文本"}},
	{MissingPiece, lang.Text{EN: "A piece is missing", ZH: "缺少一部分"}},
	{DuplicatePiece, lang.Text{EN: "A piece stands twice", ZH: "有一部分重复"}},
	{ConcatShape, lang.Text{EN: "Pieces do not fit together", ZH: "各部分无法拼接"}},
	{NotInModel, lang.Text{EN: "Not in the reference", ZH: "标杆中没有"}},
	{PartialSum, lang.Text{EN: "Summand of a sum of ranks", ZH: "跨 rank 求和的加数"}},
	{NotLocated, lang.Text{EN: "Not found in the reference", ZH: "在标杆中未找到"}},
	{ReadError, lang.Text{EN: "The file cannot be read", ZH: "文件无法读取"}},
	{UnsupportedDType, lang.Text{EN: "No decoder for the type", ZH: "不支持该元素类型"}},
}

// Causes lists the descriptions of all codes.
func Causes() []Cause { return causes }
