package main

// helpInChinese holds the help of each command, by its path below dumptool: one paragraph a line.
// Brief help shows the first line. Lists in the English text, such as the formats, are appended.
var helpInChinese = map[string]string{
	"": `dumptool 指出 NPU 上哪个算子最先算错、为什么：把 dump 与标杆运行比对，或由算子自身的输入重新计算；把设备 dump 转换为主机张量，解码溢出记录，编写和检查 dump 配置。

长选项可以用单横线，也可以把 - 写成 _。每个选项都可由环境变量 DUMPTOOL_<COMMAND>_<FLAG> 设置，或写在用户配置目录的 dumptool.yaml 中。`,
	"PATH...": `用路径代替命令：说明那里有什么——由谁写入、rank、step、算子、数据类型、溢出记录、旁边的标杆、配置中的错误——以及合适的命令，参数已填好。

第一个词若存在、含斜杠或以 s3:// 开头，且不是命令，就是路径：./compare 是目录，compare 是命令。结果几乎都来自名称和 dump.json；数据类型取自最多 64 个文件。`,
	"check": `check 只需要一次运行的 dump。凡类型已知的算子，都由 dump 中它自身的输入以 float64 重新计算，再把输出与健康的 NPU 可能的误差界比较。不需要标杆，也没有要调的门限。

OK：不超出内部为 float32 时的误差；LOW：不超出 float16 和函数表的误差；WRONG：更大；MISFIT：未知的属性无论取何值都不能解释；UNDECIDED：不能判定，并给出原因；CRASHED：dumptool 自身有缺陷（请报告；退出码 3）。属性来自 --attr、图、调用的参数和承载它们的输入；否则由形状和数值推断。

有多个 rank 时，也由各 rank 的输入重新计算每次通信，并比较权重和结果的副本：一行指出最先出错的 rank、算子和故障种类。缺少某些 rank 的 dump 时，通信只是未检查，不算错。--only operators 不做这些。

必须 dump 了输入(dump_mode 为 all)。`,
	"cluster": `cluster 打印调度器(Slurm、Kubernetes、Volcano)的作业，它们分片完成 compare、overflow scan、overflow analyze 或 convert 的工作，再合并结果。cluster 不提交任何作业。local 以本机的进程运行各分片。

每次运行有自己的 ID，写在分片目录的名称和结果中。重新提交的作业只做缺少的部分；若文件或选项与当时不同，分片会重做。`,
	"cluster kubernetes": `kubernetes 打印一个运行分片的 Indexed Job 和一个合并的 Job。两者同时启动，合并会等待各分片写出的结果，结果须在对象存储或你为 pod 添加的卷上。密钥取自 secret。Pod 符合 Pod Security 的 restricted 级别。合并发现故障不算其 Job 失败：日志的最后一行会说明。`,
	"cluster local":      `local 以本程序的进程运行各分片和合并，并以合并的退出码结束：可用来试验集群上的做法。`,
	"cluster merge":      `merge 生成由 cluster 分片完成的一条命令的结果。它与分片一样列出目录，只取文件、选项和运行都相同的结果：较早的尝试留下的过期结果视为缺少。'dumptool merge DIR' 合并已有的结果，不查看目录。`,
	"cluster slurm":      `slurm 打印一个脚本，它提交分片的作业数组和其后的合并。各机器须能看到相同的目录，或路径在对象存储中。再次运行时只提交缺少的部分和合并。日志在分片的目录中，若在对象存储则在 dumptool-logs/ID。合并发现故障不算其作业失败：日志的最后一行会说明。`,
	"cluster volcano":    `volcano 打印一个作业，含分片任务和等待分片结果的合并任务。结果须在对象存储或你为 pod 添加的卷上。密钥取自 secret。失败或被驱逐的 Pod 使作业重启，最多三次；已完成的分片会立即结束。`,
	"compare": `compare 按名称把 NPU 运行的张量与标杆运行的张量配对，逐元素比对，指出哪个算子最先出错、为什么。

每个 PATH 是文件或目录：.npy 数组、任何容器的 dump(设备格式会转换为标杆的轴顺序)，或 .bin 裸数据。NPU 的两次运行也可以这样比对。只给一个 PATH 时，它是含有两侧的目录。未给出的 PATH 取 $DUMP_MEMORY_PATH 下的目录 cpu 或 npu；报告则写到那里的目录 result。

张量因故障的证据而失败：其算子引入了舍入和输入误差都不能解释的误差，或者它被这样的误差损坏。仅因舍入而超出门限的是 ROUNDING，不算失败。给出门限时改由门限决定(--verdict limits)。

若不满足 |npu - cpu| <= atol + rtol*|cpu|，元素即为错误。只在一侧出现的 NaN 和无穷总是错误(--nan-policy)。门限同 HPAA，为 0.005 和 0.2，除非 --profile、--atol、--rtol 或报告目录中的 op_config.csv 另有规定。

摘要写到标准输出。有 -out 时还把报告写到 DIR：report.html(浏览器页面)、compare.json(全部结果)和 cpu_vs_npu.csv(含 HPAA 的列及更多的列)。若两侧来自 HPAA，或有 --format hpaa，则写 HPAA 的文件：每个异常张量一个错误 CSV、日志、op_config.csv。`,
	"compare detail":      `detail 比对一个算子的张量，显示全部信息：两侧的统计量、全部指标、差异最大的元素及其坐标。有 -out 时把两侧张量以相同的形状和顺序写成 .npy 文件，把差异最大的元素写成 CSV。`,
	"compare determinism": `determinism 逐位比较同一网络的两次或多次运行的张量，按执行顺序列出不同者：有几种内容、与首次运行相差多少；有三次以上运行时，还指出每次不同的是相同的元素(张量某一部分的竞争)还是不同的元素(加法顺序变化)。每个 rank 和 step 与首次运行的相同 rank 和 step 比较。`,
	"compare judge":       `judge 读取一次运行的 compare.json，不读张量而重新判定各行：按证据，或在给出门限时按门限(--verdict)。门限与运行时不同时，按该行的 margin 以及使全部元素通过的最小 atol、rtol 判定；仍不能确定的行为 UNDECIDED，算失败：请用这些门限重新运行 compare。未给出的门限取自 profile，而不是运行时的门限。`,
	"compare merge":       `merge 即用于 'compare' 结果的 'dumptool merge'。`,
	"completion": `completion 打印脚本，用于在 shell 中补全命令和选项。在当前 shell 中使用：

  bash        source <(dumptool completion bash)
  zsh         source <(dumptool completion zsh)
  fish        dumptool completion fish | source
  powershell  dumptool completion powershell | Out-String | Invoke-Expression

要在每个 shell 中使用，把该行写入 shell 的启动文件。`,
	"config": `config 的命令处理说明昇腾软件 dump 什么的文件：ACL 运行时的 acl.json、MINDSPORE_DUMP_CONFIG 指定的文件，以及写成一层 JSON 的图引擎和 TensorFlow 适配器的 dump 选项。由其中的键识别是哪一种。`,
	"config check": `check 找出配置中的错误：运行时会拒绝的内容(附其错误码)，以及它默默接受而不执行的内容，例如会被忽略的拼错的键。FILE 可为 -，即标准输入。

结果的形式如编译器的消息；有 --json 时每个文件一个 JSON 对象，键为 file、schema 和 findings；每条结果有 rule、severity(error、warning、info)、path、line、column、message 和 code，适用时还有 suggestion、ignored(运行时为何不看它)和 related。行和列从 1 开始，列按字符计。--format sarif 供在源码旁显示结果的服务使用。

只检查文件本身，因为它可能用于另一台主机。--check-fs 还检查其中提到的目录，--check-env 检查会覆盖它的环境变量以及是否在容器中。

对 MindSpore 写过 dump 的目录，检查其中的配置(.metadata 或 rank_N/.dump_metadata)，再把它所要求的与已有的对照：迭代、设备、算子和图。缺少即为错误。

--fix 以 'patch -p1' 可用的 diff 打印可修复之处，不动文件；退出码按文件现状。加 --write 则修改文件，并打印其中剩余的问题。只修复有把握之处；引号或括号不配对时什么也不修复，消息会显示缺少引号的那一行。diff 对工作目录之外的文件只写文件名。

有错误时退出码为 1，有 --strict 时警告也是；有文件不能读写时一律为 3。`,
	"config explain": `explain 用平实的话说明一份配置 dump 什么、哪些算子和 step、文件在哪里、怎样读取、其中什么不起作用，以及还需要做什么。FILE 可为 -，即标准输入。

有错误的文件按其本意说明，先列出运行时拒绝的内容；此时退出码为 1。有 --json 时结果是一个对象，键为 file、schema、active(是否会 dump)、sections(name、title、lines)、patterns(文件路径)、commands 和 error。`,
	"config new": `new 打印用于某一目的的完整配置，有 -out 时写入文件，并说明怎样使用。没有给出的取默认值，或用占位符并指明。结果经过检查：运行时会拒绝的值是错误。

在终端上且不带选项时，会询问少数要紧的内容。

目的：
  model         离线或编译的模型的算子
  op            逐个调用的算子，如 PyTorch
  stats         以统计量代替张量：大模型的第一步
  overflow      溢出的算子
  exception     因异常失败的 AI Core 算子
  watcher       某些算子的输出，在其他算子之后再次 dump：找出谁改写了内存
  kernel-debug  Ascend C kernel 自己打印、断言和 dump 的内容
  ms-e2e        MindSpore：由框架自身同步 dump
  ms-async      MindSpore：由设备异步 dump(jit_level O2，图引擎)
  ms-overflow   MindSpore：溢出的算子
  ms-stat       MindSpore：以统计量代替张量

选项名即文件中的键名。可取多个值的选项以逗号分隔，或多次给出。`,
	"convert": `convert 把 PATH(文件、以逗号分隔的文件列表或目录)的 dump 文件中的每个张量写成 DIR 中的一个文件。没有 -f 时张量保持设备的格式；有 -f 时转换为 NCHW 等主机格式，不含填充。溢出记录转换为 JSON。

-t pt 写出 torch.load 可读的文件。-t safetensors 为每个 dump 写一个文件 DUMP.safetensors，含其全部张量；其中 bfloat16 和 float8 保持原样，而 .npy 和 .pt 中为 float32。

-t h5 把 torch.utils.dumper 的 HDF5 文件中的算子(--ops 所选，否则全部)复制到 -out 指定的新文件。--ops 的 NAMES 可以是 Op(它的全部)、Op/12(一次执行)或一个张量。-t h5copy 打印用 HDF5 自带工具做同样工作的命令。

目录连同子目录一起遍历，其结构在 DIR 中重现。不是 dump 的文件只计数，不处理。失败会报告，并列入 DIR/convert_failed_file_list.txt(PATH 为单个文件时除外)，不影响其余文件。

有 --shard 时只转换一部分文件；此后 'dumptool merge DIR' 由各分片在 DIR 中留下的结果写出该列表。`,
	"convert merge": `merge 即用于 'convert' 结果的 'dumptool merge'。`,
	"find": `find 读取 MindSpore 保存在 DIR 下 dump 旁边的图，回答脚本的一行成了哪些算子、其 dump 在哪里——或由算子、参数或 dump 反查脚本行。QUERY 为以下之一：

  resnet.py:88, resnet.py:88-92       一行或多行
  x = self.conv1(x)                   脚本中的代码
  Default/net/conv1/Conv2D-op515      算子：名称、名称的结尾、类型或作用域
  op515, 515                          算子的编号
  %4, @graph:%4                       图的节点
  conv1.weight, para2                 参数，以及谁读取它
  #17, order:17                       执行顺序中的位置，从 1 开始
  rank_0/Net/0/0/Conv2D....npy        dump 文件或其名称

若看起来像别的种类，用 --by 指明。名为 graphs 的目录先在 DIR 下查找，再到其上最多六级目录中查找。一个目录的多张图中，以编译最后阶段的为准。

不是高置信度时会说明：调用者、被融合或计算梯度的算子、类型或作用域为中；名称的一部分或该行所在的代码块为低。低置信度的结果只在没有其他结果时显示，或用 --all 显示。结果相同的 rank 合在一起。`,
	"help": `help 打印一个命令的帮助，如同 COMMAND --help，或一个主题的说明及其选项：

  limits     张量何时失败
  order      执行顺序，以及算子间的数据流
  layouts    形状、轴顺序和数据类型
  shards     多台机器上的一次运行
  hpaa       HPAA 的文件和名称
  msaccucmp  msaccucmp 的选项在此怎样写`,
	"hpaa": `hpaa 有一个命令，处理 HPAA 驱动留在 $DUMP_MEMORY_PATH 下 dump_data 中的内容。得到的数组由 dumptool compare 比对。`,
	"hpaa import": `import 解码 DIR/dump_data 中的张量分片，拼接成各输出，写成 DIR/npu 中的 .npy 数组，日志在 DIR/result，与 HPAA 的 run_npu_data_analysis.py 相同。未给出 DIR 时取 $DUMP_MEMORY_PATH。

原始格式没有公开，需要告诉 dumptool 分片的内容：

--pieces FILE 每行一个 JSON 对象，或是含相同列的 CSV 表。file 和 node 是必需的；其他为 output、piece(在轴上的位置)、round、dtype、shape、encoding、skip(头部字节数)、axis、model_shape(裁去填充)和 time。--piece-pattern 以 dump_data 下路径的模板给出同样的内容，例如 {node}@{output}.{piece:hex}.dat，还可用 {round}、{card}、{dtype}、{shape}、{axis}、{time}、{n} 和 {*}；模式 successor 是试验性的：由这类文件仅有的公开名称推断。两者都没有说明的，取自 --dtype、--shape、--encoding 和 --skip，或 --like 的标杆运行。

编码：bin；hex(每字节两位，按内存顺序)，hex0x(同上，带 0x)；words16、words32、words64(数，高位在前)；npy；auto，当文件大小和开头只符合其中一种时。

不删除任何文件。损坏的分片使其节点的输出缺失；每个分片都在某个数组中、日志的某一行中，或在消息和 --json 所列的其他文件中。`,
	"inspect": `inspect 显示 PATH(文件或连同子目录的目录)中文件的内容：容器、算子、dump 时间，以及每个张量的数据类型、格式、形状、原始形状和字节数。溢出记录显示单元、流、任务和状态，统计表显示各行。既不是 dump 也不是 .npy 数组的文件只计数。

对目录先说明它是什么，如同 dumptool PATH：由谁写入、有哪些 rank 和 step、执行顺序来自何处、数据类型、缺少或有误之处。超过 20 个文件时按执行顺序每个算子一行；--long 显示全部文件和张量。

有 --stats 时每个张量读取一次。最小值、最大值和均值只计有限的元素，按设备的格式：填充也计入。

有 --script 时每个算子附上它对应的用户脚本行，来自 MindSpore 保存的图和 msprobe 的调用栈；--json 中为 "script"。

对单独给出、位于 dump 旁边的文件(MindSpore 的图、其执行顺序、mapping.csv)，inspect 统计其中的内容，以及读取时略过的不符合格式的行或字段；--verbose 列出其位置。

有 --json 时每个文件一行一个对象；给出目录时，其前有一个键为 "run" 和 "rounds" 的对象。键的顺序固定；null 表示未知。不能读取的文件或张量有键 "error"。`,
	"merge": `merge 读取 compare、overflow scan、overflow analyze 或 convert 的分片(或这些命令在不同机器上)写出的结果，生成一次运行本应得到的结果。它不读张量。PATH 是结果文件、含一个结果的目录，或这些目录的上级目录；rank=7:PATH 指明某个结果属于哪个 rank。

缺少分片时会指明，且不写任何内容。`,
	"overflow": `overflow 的命令处理数值溢出时设备留下的内容：它写出的记录(OpDebug dump)、其状态字，以及算子的 dump。`,
	"overflow analyze": `analyze 查找 DIR 下的溢出记录(设备、step 和模型数不限)，并把每条与其算子的 dump 对应：按记录中的编号、按文件名中的编号，或按时间猜测；所用规则会显示。它读取该算子的张量，说明异常值是在这里产生的还是输入带来的；对每个 rank 的首条记录，在图有说明时显示该算子读取什么。记录按 rank、step 和时间排序；设备即 rank。超过 20 条记录时，文本中每个算子一行，附溢出所在的 rank 和 step，首条记录完整显示；--all 全部显示。

有 --shard 时只查看一部分轮次的记录，结果写到 -out 目录下的一个目录；'dumptool merge' 由全部分片的结果生成一份报告。`,
	"overflow analyze merge": `merge 即用于 'overflow analyze' 结果的 'dumptool merge'。`,
	"overflow decode": `decode 把 FILE 中的溢出记录(OpDebug dump)打印为 JSON，形式同 convert，适用于各种加速器和两种记录格式。有多条记录时输出是一串 JSON 值，jq 可直接读取。-out 则把每条写到 DIR/NAME.output.N.json。

FILE 是任意名称的 dump 文件；或目录，查找其中全部记录，其他文件不动；或记录的 JSON，包括 MindSpore 所写的。若 MindSpore 把新设备的记录当作旧设备的，则打印其中剩余的内容：单元、模型、流和任务。逐个给出的文件也可以只是数据部分：.bin、.npy，或没有通常名称的 dump。

--extended 打印一个对象，含记录及其已知的全部内容：文件名中的时间(UTC)、记录是否有效且报告溢出、十六进制的编号和状态字、中英文原因和建议、公开资料没有解释的位，以及警告。不能读取的记录是一个含键 "error" 的对象。

有记录报告溢出(有效且状态字不为 0)时退出码为 1。状态已丢失的有效记录也算。有文件不能读取时一律为 3。`,
	"overflow scan": `scan 读取 dump 和数组中的每个张量一次，按 rank、step 和执行顺序显示含 NaN、无穷或浮点类型极限值的张量；标出每个 rank 的首个，设备即 rank。整数类型的极限值只计数，本身不算问题。只 dump 了统计量的张量(statistic.csv 和 CANN 的表)按统计量显示。

异常张量超过 20 次执行时按算子分组，首个完整显示；--all 全部显示，包括正常的。

有 --shard 时读取一部分轮次(若一轮超过其份额，则为其中一部分算子)，把结果写成 -out 目录中的一个文件；'overflow scan merge' 生成全部的报告。有 --resume 时，被中断的运行或对象存储没有应答的运行中已完成的 step 不再读取。`,
	"overflow scan merge": `merge 即用于 'overflow scan' 结果的 'dumptool merge'。`,
	"overflow status": `status 解释状态字和错误寄存器各位的含义。VALUE 是数(十进制，或 0x 开头的十六进制)，或含有数的一段日志，例如 'errcode:(0, 0x8000, 0)'，其中的字会拼在一起。没有 VALUE 或为 - 时在标准输入的各行中查找：运行时的日志(errcode、AIC_ERROR、error code、dha status)、JSON 或文本形式的溢出记录，以及纯数值的行；其他内容不动。

--register 指明纯数值属于哪个寄存器。日志中指明寄存器的值以日志为准。

有 --json 时结果是对象的列表，键为 value、register、bits 和 unknown；value、mask 和 unknown 是十六进制字符串，unknown 为公开资料没有解释的位。bits 的每项有键 mask、name、en、zh 和 advice，适用时还有 code(位域的编码)、number(昇腾 950 日志中的编号)、numeric、unofficial 和 note。

某个值有数值原因时退出码为 1：对 aicore、dha 和 l2 为非 0 的任何值，对其他寄存器为与所计算的数值有关的位或编码。其他错误(例如传输错误)退出码为 0。`,
	"overflow watch": `watch 比较 CANN 的 watcher 模式写出的 dump(dump_scene 为 "watcher")：被监视的算子 C 的输出，在算子 A、B……各自运行之后再次写出，文件名为 {C 的类型}.{A}_To_{C}.{任务}.{流}.{时间戳}。按时间顺序逐字节与前一个比较；若有 C 自身的 dump，它是第一个。不同之处由最后运行的算子写入，或由前一个 dump 之后运行的某个算子写入。`,
	"perf": `perf 读取 HPAA 的性能表：op_perf.csv、op_perf_{core}.csv 和 perf/{op}.csv。PATH 是表，或在其 result 目录或自身中含有这些表的目录；没有 PATH 时为 $DUMP_MEMORY_PATH。列的顺序不限，可以缺列，名称可以重复：同名的第 k 个与第 k 个比较。

算子按 mcu_cycle 排序，并说明各受什么限制，附起决定作用的数值。取首个符合的：
  inconsistent  各单元的重叠超过其运行时间，或运行时间超过 mcu_cycle：32 位计数器回绕，或计的是别的内容
  sync          等待其他核占 mcu_cycle 的 --wait
  control       VME、MME 和搬运合计不到 mcu_cycle 的一半
  data          搬运占 mcu_cycle 的 --busy，且为计算的 --lead 倍
  compute       VME 和 MME 占 mcu_cycle 的 --busy，且为搬运的 --lead 倍
  balanced      两者都占 mcu_cycle 的 --busy：接近脊点
  serial        两者都占 mcu_cycle 的 0.15，而较短者与另一方重叠不到一半：互相等待
其余按领先者为 data、compute 或 balanced(低)。

数值：compute 为 VME 或 MME 运行的周期数，union 为任一单元运行的周期数，exposed_data 为只有搬运的周期数。表中没有峰值：时间与时间比较，而不是运算量与字节数。

有 --baseline 时说明变化：超过 --regress 和 1000 周期为 SLOWER 和 FASTER，NEW 为新增，以及
  REPEATED_MOVES  mte_pld_byte 增加超过 --grow 和 4096 字节
  L1_CONFLICTS    L1 的 bank 冲突增加超过 --grow 和 1000 周期；基线中没有该行时：占 mcu_cycle 的 --conflict
  IMB_CONFLICTS   中间缓冲区的同样情况
  IMBALANCE       最慢的核用时为均值的 1.25 倍，且多 1000 周期
各核的表中每个算子一行：取最慢的核，字节数为全部核之和。有 perf/ 时会判断表中是各次运行的和、均值、最大值、末次还是首次。

HPAA 的手册没有给出门限：这些是我们设定的。没有 --mhz 时周期不是秒。`,
	"report": `report 由一次运行的 compare.json 生成浏览器页面，与 compare --format html 相同，不需要张量；可用含该文件的目录代替。其他 FILE 各占一个标签页：check、overflow analyze 或 overflow scan、compare determinism 和 perf 用 --format json 写出的结果。页面显示结果中已有的内容：compare 保留了张量的图时(--report pictures)才有图。只有 check.json 也可以生成页面。

给出两次比对时，第一个为之前，第二个为之后：页面是第二个的，一个标签页说明哪些起源消失、新增或不变。也可以把第二个 compare.json 拖到页面上。

没有 -out 时页面写到标准输出。--show-graph 在页面旁画出张量的图，要求运行时也用了 --show-graph。`,
	"run-npu-data-analysis": `与 dumptool hpaa import 相同：由 HPAA 的原始分片得到张量。`,
	"show": `show 打印张量数值的一个窗口，行列标有下标：取 --at 位置处的最后两轴，其他轴固定在该位置。设备格式的张量按其原始格式显示，或按 -f；--raw 按存储的样子显示。FILE:NAME 是含命名张量的文件中的一个张量。

有 --cpu 时标杆的数值显示在下方，两者都按标杆的顺序，超出门限的元素标以 *，只在一侧为 NaN 或无穷的标以 !。没有 --at 时为差异最大的元素处，否则为首个元素。`,
	"version": `version 打印 dumptool、Go 和平台的版本。`,
}

// topicsInChinese holds the texts of the topics.
var topicsInChinese = map[string]string{
	"limits": `默认按故障的证据判定张量失败：其算子引入了舍入和输入误差都不能解释的误差。给出任何门限时改由门限决定：由选项、hpaa 之外的 profile，或在 --op-config 的文件中为单个算子给出。此时若不满足 |npu - cpu| <= atol + rtol*|cpu|，元素即为错误。

门槛(gate)是对整个张量某个指标的限制，两种判定方式都适用。无定义的指标不违反任何门槛，但标杆全零而有差异、因而无定义的平均相对误差除外。--min-cos、--max-red、--max-mean-rel、--min-sqnr 和 --max-ulp 是门槛的其他写法。`,
	"order":     `首个出错的算子是执行顺序中的第一个，误差沿数据流从算子追踪到算子。两者都取自 dump 旁边的文件；不够时由文件给出：执行顺序、消费者映射、MindSpore 的图、离线模型的图。都没有时，把输入与元素相同的输出相连。`,
	"layouts":   `设备格式的张量会转换为标杆的形状和轴顺序，依据是 dump 和文件名。这些选项用于 dump 和文件名没有说明时，以及指定形状不符时怎么办。`,
	"shards":    `每台机器得到完整的命令行和 --shard I/N，或在调度器给出 I 时用 auto/N，并在 -out 目录下写出结果。'dumptool merge' 由这些结果生成一次运行的报告，不读张量。'dumptool cluster' 打印用于 Slurm、Kubernetes 和 Volcano 的作业。`,
	"hpaa":      `设置了 $DUMP_MEMORY_PATH 时，其中的目录 cpu、npu 和 result 分别是两侧和报告的位置，op_config.csv、node_runtime.file 和 consumer_map_dict.file 也在 result 中读取。cpu_vs_npu.csv 有 HPAA 的列和数值。'dumptool hpaa import' 由设备留下的原始分片生成数组。`,
	"msaccucmp": `长选项可以用单横线，也可以把 - 写成 _。-m 和 -g 是两侧，-f 是融合规则，-out 是报告目录；--format msaccucmp 写出它的表。'convert' 有其形状转换的选项：-d、-out、-f、-s、-o、-i、-t、-v、-c。`,
}

// wordsInChinese translates titles and lines of help, and the descriptions in its lists.
var wordsInChinese = map[string]string{
	"Usage": "用法", "Examples": "示例", "Commands": "命令", "Flags": "选项", "Formats": "格式", "Registers": "寄存器",
	string(choosing): "选择", string(pairing): "配对", string(facts): "补充信息", string(judging): "判定", string(reporting): "报告",
	string(ci): "CI", string(closer): "细看", string(more): "其他", string(global): "全局选项", string(storage): "对象存储的选项(s3://bucket/key)",
	exitStatusTitle: "\n退出码\n",
	"[flags]":       "[选项]",

	" or ":               " 或 ",
	"help for a command": "显示此帮助",
	"'%s COMMAND --help' says more about a command.\n":                   "'%s COMMAND --help' 说明各命令。\n",
	"'%s --help-all' says more and lists all flags.\n":                   "'%s --help-all' 有更多说明和全部选项。\n",
	"'dumptool --help-all' lists those of object storage (s3://) too.\n": "'dumptool --help-all' 还列出对象存储(s3://)的选项。\n",
	"'dumptool help TOPIC' knows %s.\n":                                  "'dumptool help TOPIC' 的主题有 %s。\n",

	"done, nothing wrong found":                      "完成，没有发现问题",
	"done, and the thing looked for was found":       "完成，找到了要找的问题",
	"wrong usage or configuration":                   "用法或配置错误",
	"some input or output failed, the rest was done": "部分输入或输出失败，其余已完成",
	"nothing to do, no input matched":                "无事可做，没有匹配的输入",
	"coverage or baseline not met":                   "未达到覆盖率或基线",
	"interrupted":                                    "被中断",

	"for people": "供人阅读",
	"a table; that of compare has HPAA's columns, and more behind them":          "表；compare 的表有 HPAA 的列，其后有更多的列",
	"the files of HPAA: its table, errors of each operator, logs, op_config.csv": "HPAA 的文件：表、各算子的错误、日志、op_config.csv",
	"everything, for programs":                          "全部结果，供程序读取",
	"a test case for each tensor, for CI services":      "每个张量一个测试用例，用于 CI 服务",
	"Markdown, for a comment on a code host":            "Markdown，用于代码托管平台的评论",
	"a table with the columns of msaccucmp":             "含 msaccucmp 各列的表",
	"a table with the columns of msprobe":               "含 msprobe 各列的表",
	"a page for a browser, in one file":                 "浏览器页面，单个文件",
	"for services that show findings beside the source": "供在源码旁显示结果的服务使用",

	"AI Core status": "AI Core 状态",
	"DHA atomic add status (memory controller)": "DHA 原子加状态(内存控制器)",
	"L2 atomic add status (L2 cache)":           "L2 原子加状态(L2 缓存)",
	"SDMA status":                               "SDMA 状态",
	"AI CPU error code":                         "AI CPU 错误码",
	"AIC_ERROR, error register of AI Core":      "AIC_ERROR，AI Core 的错误寄存器",
	"CUBE errors of Ascend 950":                 "昇腾 950 的 CUBE 错误",
	"MTE errors of Ascend 950":                  "昇腾 950 的 MTE 错误",
	"L1 errors of Ascend 950":                   "昇腾 950 的 L1 错误",
	"L1 errors of Ascend 950, upper half":       "昇腾 950 的 L1 错误，高半部分",
	"SC errors of Ascend 950":                   "昇腾 950 的 SC 错误",
	"SU (scalar unit) errors of Ascend 950":     "昇腾 950 的 SU(标量单元)错误",
	"VEC errors of Ascend 950":                  "昇腾 950 的 VEC 错误",
	"VEC errors of Ascend 950, upper half":      "昇腾 950 的 VEC 错误，高半部分",
}
