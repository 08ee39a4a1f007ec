//! The one list of HIP's functions. Everything that exists once per function is an expansion of it:
//! the wrappers of `libstrobe.so`, the table of next pointers, the thunks, the published table.
//!
//! It names every function that `libamdhip64.so.5` of ROCm 5.2.3 exports, hiprtc included, with the
//! symbol version it came with, and sorts each into a class:
//!
//! - `modelled`: wrapped. The term in braces says what a call does to GPU memory, in the vocabulary
//!   of whoever expands the list; `submit()` is everything that touches no tracked memory but changes
//!   the state of the GPU or of the runtime, so that it must not happen at the cut.
//! - `called`: like `pure`, and called by the agent itself.
//! - `refused`: it makes state that is not modelled. A program that used it is not checkpointed.
//! - `pure`: it changes nothing outside of the process's own memory; not interposed.

/// Expands `$callback!` with the whole list.
#[macro_export]
#[rustfmt::skip] // One line a function.
macro_rules! for_each_function {
    ($callback:ident) => { $callback! {
        modelled {
            // Code objects and kernels.
            "4.2" __hipRegisterFatBinary(wrapper: *const FatBinaryWrapper) -> *mut Ptr { register_fat_binary(wrapper) }
            "4.2" __hipRegisterFunction(module: *mut Ptr, stub: ConstPtr, device_function: *mut c_char, device_name: *const c_char, thread_limit: c_uint, tid: Ptr, bid: Ptr, block: *mut Dim3, grid: *mut Dim3, wave_size: *mut c_int) -> () { register_function(module, stub, device_name) }
            "4.2" __hipUnregisterFatBinary(module: *mut Ptr) -> () { unregister_fat_binary(module) }
            "4.2" __hipRegisterManagedVar(module: Ptr, pointer: *mut Ptr, content: Ptr, name: *const c_char, bytes: usize, align: c_uint) -> () { submit() }
            "4.2" hipModuleLoad(module: *mut Module, path: *const c_char) -> Status { load_file(module, path) }
            "4.2" hipModuleLoadData(module: *mut Module, image: ConstPtr) -> Status { load_image(module, image) }
            "4.2" hipModuleLoadDataEx(module: *mut Module, image: ConstPtr, options: c_uint, option: *mut JitOption, value: *mut Ptr) -> Status { load_image(module, image) }
            "4.2" hipModuleUnload(module: Module) -> Status { unload(module) }
            // The compiler makes files for itself, which are gone when it has ended.
            "4.2" hiprtcCompileProgram(program: Ptr, count: c_int, options: *mut *const c_char) -> Status { submit() }
            "4.2" hipModuleGetFunction(kernel: *mut Kernel, module: Module, name: *const c_char) -> Status { get_function(kernel, module, name) }
            "4.2" hipModuleGetGlobal(address: *mut Ptr, bytes: *mut usize, module: Module, name: *const c_char) -> Status { submit() }
            "4.2" hipGetSymbolAddress(address: *mut Ptr, symbol: ConstPtr) -> Status { submit() }
            "4.2" hipGetSymbolSize(bytes: *mut usize, symbol: ConstPtr) -> Status { submit() }
            "4.2" hipFuncGetAttributes(attributes: Ptr, stub: ConstPtr) -> Status { submit() }
            "4.2" hipFuncSetAttribute(stub: ConstPtr, attribute: c_int, value: c_int) -> Status { submit() }
            "4.2" hipFuncSetCacheConfig(stub: ConstPtr, config: c_int) -> Status { submit() }
            "4.2" hipFuncSetSharedMemConfig(stub: ConstPtr, config: c_int) -> Status { submit() }
            "4.2" hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut c_int, stub: ConstPtr, block: c_int, lds: usize) -> Status { submit() }
            "4.2" hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut c_int, stub: ConstPtr, block: c_int, lds: usize, flags: c_uint) -> Status { submit() }
            "4.2" hipOccupancyMaxPotentialBlockSize(grid: *mut c_int, block: *mut c_int, stub: ConstPtr, lds: usize, limit: c_int) -> Status { submit() }
            // Launches.
            "4.2" hipLaunchKernel(stub: ConstPtr, grid: Dim3, block: Dim3, args: *mut Ptr, lds: usize, stream: Stream) -> Status { launch_stub(stub, grid, block, args, lds, stream) }
            "5.2" hipLaunchKernel_spt(stub: ConstPtr, grid: Dim3, block: Dim3, args: *mut Ptr, lds: usize, stream: Stream) -> Status { launch_stub(stub, grid, block, args, lds, stream.per_thread()) }
            "4.2" hipExtLaunchKernel(stub: ConstPtr, grid: Dim3, block: Dim3, args: *mut Ptr, lds: usize, stream: Stream, start: Event, stop: Event, flags: c_int) -> Status { launch_stub_recorded(stub, grid, block, args, lds, stream, stop) }
            "4.2" hipLaunchCooperativeKernel(stub: ConstPtr, grid: Dim3, block: Dim3, args: *mut Ptr, lds: c_uint, stream: Stream) -> Status { launch_stub(stub, grid, block, args, lds as usize, stream) }
            "5.2" hipLaunchCooperativeKernel_spt(stub: ConstPtr, grid: Dim3, block: Dim3, args: *mut Ptr, lds: c_uint, stream: Stream) -> Status { launch_stub(stub, grid, block, args, lds as usize, stream.per_thread()) }
            "4.2" hipModuleLaunchKernel(kernel: Kernel, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, lds: c_uint, stream: Stream, args: *mut Ptr, extra: *mut Ptr) -> Status { launch_function(kernel, Dim3::new(grid_x, grid_y, grid_z), Dim3::new(block_x, block_y, block_z), args, extra, lds as usize, stream) }
            "4.2" _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(kernel: Kernel, items_x: c_uint, items_y: c_uint, items_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, lds: usize, stream: Stream, args: *mut Ptr, extra: *mut Ptr, start: Event, stop: Event, flags: c_uint) -> Status { launch_items_recorded(kernel, Dim3::new(items_x, items_y, items_z), Dim3::new(block_x, block_y, block_z), args, extra, lds, stream, stop) }
            "4.2" _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(kernel: Kernel, items_x: c_uint, items_y: c_uint, items_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, lds: usize, stream: Stream, args: *mut Ptr, extra: *mut Ptr, start: Event, stop: Event) -> Status { launch_items_recorded(kernel, Dim3::new(items_x, items_y, items_z), Dim3::new(block_x, block_y, block_z), args, extra, lds, stream, stop) }
            "4.2" hipLaunchByPtr(stub: ConstPtr) -> Status { launch_anywhere() }
            "4.2" hipExtLaunchMultiKernelMultiDevice(launches: Ptr, devices: c_int, flags: c_uint) -> Status { launch_anywhere() }
            "4.2" hipLaunchCooperativeKernelMultiDevice(launches: Ptr, devices: c_int, flags: c_uint) -> Status { launch_anywhere() }
            "4.2" _ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv(stub: usize, grid: *const Dim3, block: *const Dim3, lds: c_uint, stream: Stream, extra: *mut Ptr) -> () { launch_unknown(stream) }
            "4.3" hipGraphInstantiate(exec: *mut GraphExec, graph: Graph, error_node: Ptr, log: *mut c_char, log_bytes: usize) -> Status { instantiate_graph(exec, graph) }
            "4.5" hipGraphInstantiateWithFlags(exec: *mut GraphExec, graph: Graph, flags: u64) -> Status { instantiate_graph(exec, graph) }
            "4.3" hipGraphExecDestroy(exec: GraphExec) -> Status { change_graph_exec(exec) }
            "4.3" hipGraphLaunch(exec: GraphExec, stream: Stream) -> Status { launch_graph(exec, stream) }
            "4.3" hipGraphDestroy(graph: Graph) -> Status { destroy_graph(graph) }
            "4.3" hipGraphAddKernelNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: ConstPtr) -> Status { change_graph(graph) }
            "4.3" hipGraphAddMemcpyNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: ConstPtr) -> Status { change_graph(graph) }
            "4.3" hipGraphAddMemcpyNode1D(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind) -> Status { change_graph(graph) }
            "4.5" hipGraphAddMemcpyNodeFromSymbol(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { change_graph(graph) }
            "4.5" hipGraphAddMemcpyNodeToSymbol(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { change_graph(graph) }
            "4.3" hipGraphAddMemsetNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: ConstPtr) -> Status { change_graph(graph) }
            "4.5" hipGraphAddHostNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: ConstPtr) -> Status { change_graph(graph) }
            "4.5" hipGraphAddChildGraphNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, child: Graph) -> Status { change_graph(graph) }
            "4.4" hipGraphKernelNodeGetParams(node: GraphNode, parameters: Ptr) -> Status { change_graphs() }
            "4.4" hipGraphKernelNodeSetParams(node: GraphNode, parameters: ConstPtr) -> Status { change_graphs() }
            "4.4" hipGraphExecKernelNodeSetParams(exec: GraphExec, node: GraphNode, parameters: ConstPtr) -> Status { change_graph_exec(exec) }
            "4.4" hipGraphMemcpyNodeSetParams(node: GraphNode, parameters: ConstPtr) -> Status { change_graphs() }
            "4.5" hipGraphExecMemcpyNodeSetParams(exec: GraphExec, node: GraphNode, parameters: ConstPtr) -> Status { change_graph_exec(exec) }
            "4.4" hipGraphMemsetNodeSetParams(node: GraphNode, parameters: ConstPtr) -> Status { change_graphs() }
            "4.5" hipGraphExecMemsetNodeSetParams(exec: GraphExec, node: GraphNode, parameters: ConstPtr) -> Status { change_graph_exec(exec) }
            "4.5" hipGraphHostNodeSetParams(node: GraphNode, parameters: ConstPtr) -> Status { change_graphs() }
            "4.5" hipGraphExecHostNodeSetParams(exec: GraphExec, node: GraphNode, parameters: ConstPtr) -> Status { change_graph_exec(exec) }
            "4.5" hipGraphMemcpyNodeSetParams1D(node: GraphNode, to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind) -> Status { change_graphs() }
            "4.5" hipGraphExecMemcpyNodeSetParams1D(exec: GraphExec, node: GraphNode, to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind) -> Status { change_graph_exec(exec) }
            "4.5" hipGraphMemcpyNodeSetParamsFromSymbol(node: GraphNode, to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { change_graphs() }
            "4.5" hipGraphExecMemcpyNodeSetParamsFromSymbol(exec: GraphExec, node: GraphNode, to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { change_graph_exec(exec) }
            "4.5" hipGraphMemcpyNodeSetParamsToSymbol(node: GraphNode, symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { change_graphs() }
            "4.5" hipGraphExecMemcpyNodeSetParamsToSymbol(exec: GraphExec, node: GraphNode, symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { change_graph_exec(exec) }
            "4.5" hipGraphExecChildGraphNodeSetParams(exec: GraphExec, node: GraphNode, child: Graph) -> Status { change_graph_exec(exec) }
            "4.5" hipGraphExecUpdate(exec: GraphExec, graph: Graph, node: *mut GraphNode, result: *mut c_int) -> Status { update_graph_exec(exec, graph) }
            // Memory.
            "4.2" hipMalloc(address: *mut Ptr, bytes: usize) -> Status { allocate(address, bytes) }
            "4.2" hipExtMallocWithFlags(address: *mut Ptr, bytes: usize, flags: c_uint) -> Status { allocate_flags(address, bytes, flags) }
            "4.2" hipMallocPitch(address: *mut Ptr, pitch: *mut usize, width: usize, height: usize) -> Status { allocate_pitch(address, pitch, height) }
            "4.2" hipMemAllocPitch(address: *mut Ptr, pitch: *mut usize, width: usize, height: usize, element: c_uint) -> Status { allocate_pitch(address, pitch, height) }
            "4.2" hipMalloc3D(pitched: *mut PitchedPtr, extent: Extent3) -> Status { allocate_3d(pitched, extent) }
            "5.1" hipMallocAsync(address: *mut Ptr, bytes: usize, stream: Stream) -> Status { allocate(address, bytes) }
            "5.1" hipMallocFromPoolAsync(address: *mut Ptr, bytes: usize, pool: MemPool, stream: Stream) -> Status { allocate(address, bytes) }
            "4.2" hipFree(address: Ptr) -> Status { free(address, true) }
            "5.1" hipFreeAsync(address: Ptr, stream: Stream) -> Status { free(address, false) }
            "4.2" hipIpcGetMemHandle(handle: *mut IpcMemHandle, address: Ptr) -> Status { export_memory(address) }
            "4.2" hipIpcOpenMemHandle(address: *mut Ptr, handle: IpcMemHandle, flags: c_uint) -> Status { open_memory(address) }
            "4.2" hipIpcCloseMemHandle(address: Ptr) -> Status { close_memory(address) }
            "4.2" hipMallocManaged(address: *mut Ptr, bytes: usize, flags: c_uint) -> Status { submit() }
            "4.2" hipHostMalloc(address: *mut Ptr, bytes: usize, flags: c_uint) -> Status { submit() }
            "4.2" hipHostAlloc(address: *mut Ptr, bytes: usize, flags: c_uint) -> Status { submit() }
            "4.2" hipMallocHost(address: *mut Ptr, bytes: usize) -> Status { submit() }
            "4.2" hipMemAllocHost(address: *mut Ptr, bytes: usize) -> Status { submit() }
            "4.2" hipHostFree(address: Ptr) -> Status { free(address, true) }
            "4.2" hipFreeHost(address: Ptr) -> Status { free(address, true) }
            "4.2" hipHostRegister(address: Ptr, bytes: usize, flags: c_uint) -> Status { submit() }
            "4.2" hipHostUnregister(address: Ptr) -> Status { submit() }
            "4.2" hipMemAdvise(address: ConstPtr, bytes: usize, advice: c_int, device: c_int) -> Status { submit() }
            "4.2" hipMemPrefetchAsync(address: ConstPtr, bytes: usize, device: c_int, stream: Stream) -> Status { prefetch(stream) }
            "4.2" hipStreamAttachMemAsync(stream: Stream, address: Ptr, bytes: usize, flags: c_uint) -> Status { attach(stream) }
            "5.1" hipDeviceSetMemPool(device: c_int, pool: MemPool) -> Status { submit() }
            "5.1" hipMemPoolCreate(pool: *mut MemPool, properties: ConstPtr) -> Status { submit() }
            "5.1" hipMemPoolDestroy(pool: MemPool) -> Status { submit() }
            "5.1" hipMemPoolTrimTo(pool: MemPool, keep: usize) -> Status { submit() }
            "5.1" hipMemPoolSetAttribute(pool: MemPool, attribute: c_int, value: Ptr) -> Status { submit() }
            "5.1" hipMemPoolSetAccess(pool: MemPool, descriptors: ConstPtr, count: usize) -> Status { submit() }
            // Copies.
            "4.2" hipMemcpy(to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind) -> Status { copy(to, from, bytes, Stream::NULL) }
            "5.2" hipMemcpy_spt(to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind) -> Status { copy(to, from, bytes, Stream::PER_THREAD) }
            "4.2" hipMemcpyWithStream(to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind, stream: Stream) -> Status { copy(to, from, bytes, stream) }
            "4.2" hipMemcpyAsync(to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind, stream: Stream) -> Status { copy_async(to, from, bytes, stream) }
            "5.2" hipMemcpyAsync_spt(to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind, stream: Stream) -> Status { copy_async(to, from, bytes, stream.per_thread()) }
            "4.2" hipMemcpyHtoD(to: Ptr, from: Ptr, bytes: usize) -> Status { copy(to, from, bytes, Stream::NULL) }
            "4.2" hipMemcpyHtoDAsync(to: Ptr, from: Ptr, bytes: usize, stream: Stream) -> Status { copy_async(to, from, bytes, stream) }
            "4.2" hipMemcpyDtoH(to: Ptr, from: Ptr, bytes: usize) -> Status { copy(to, from, bytes, Stream::NULL) }
            "4.2" hipMemcpyDtoHAsync(to: Ptr, from: Ptr, bytes: usize, stream: Stream) -> Status { copy_async(to, from, bytes, stream) }
            "4.2" hipMemcpyDtoD(to: Ptr, from: Ptr, bytes: usize) -> Status { copy(to, from, bytes, Stream::NULL) }
            "4.2" hipMemcpyDtoDAsync(to: Ptr, from: Ptr, bytes: usize, stream: Stream) -> Status { copy_async(to, from, bytes, stream) }
            "4.2" hipMemcpyPeer(to: Ptr, to_device: c_int, from: ConstPtr, from_device: c_int, bytes: usize) -> Status { copy(to, from, bytes, Stream::NULL) }
            "4.2" hipMemcpyPeerAsync(to: Ptr, to_device: c_int, from: ConstPtr, from_device: c_int, bytes: usize, stream: Stream) -> Status { copy_async(to, from, bytes, stream) }
            "4.2" hipMemcpy2D(to: Ptr, to_pitch: usize, from: ConstPtr, from_pitch: usize, width: usize, height: usize, kind: CopyKind) -> Status { copy_2d(to, to_pitch, from, width, height, Stream::NULL) }
            "5.2" hipMemcpy2D_spt(to: Ptr, to_pitch: usize, from: ConstPtr, from_pitch: usize, width: usize, height: usize, kind: CopyKind) -> Status { copy_2d(to, to_pitch, from, width, height, Stream::PER_THREAD) }
            "4.2" hipMemcpy2DAsync(to: Ptr, to_pitch: usize, from: ConstPtr, from_pitch: usize, width: usize, height: usize, kind: CopyKind, stream: Stream) -> Status { copy_2d(to, to_pitch, from, width, height, stream) }
            "4.2" hipMemcpyParam2D(copy: *const Memcpy2D) -> Status { copy_rect_2d(copy, Stream::NULL) }
            "4.2" hipMemcpyParam2DAsync(copy: *const Memcpy2D, stream: Stream) -> Status { copy_rect_2d(copy, stream) }
            "4.3" hipDrvMemcpy2DUnaligned(copy: *const Memcpy2D) -> Status { copy_rect_2d(copy, Stream::NULL) }
            "4.2" hipMemcpy3D(copy: *const Memcpy3D) -> Status { copy_3d(copy, Stream::NULL) }
            "5.2" hipMemcpy3D_spt(copy: *const Memcpy3D) -> Status { copy_3d(copy, Stream::PER_THREAD) }
            "4.2" hipMemcpy3DAsync(copy: *const Memcpy3D, stream: Stream) -> Status { copy_3d(copy, stream) }
            "4.2" hipDrvMemcpy3D(copy: *const DriverMemcpy3D) -> Status { copy_rect_3d(copy, Stream::NULL) }
            "4.2" hipDrvMemcpy3DAsync(copy: *const DriverMemcpy3D, stream: Stream) -> Status { copy_rect_3d(copy, stream) }
            "4.2" hipMemcpyToSymbol(symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { copy_to_symbol(from, bytes, Stream::NULL) }
            "5.2" hipMemcpyToSymbol_spt(symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { copy_to_symbol(from, bytes, Stream::PER_THREAD) }
            "4.2" hipMemcpyToSymbolAsync(symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind, stream: Stream) -> Status { copy_to_symbol_async(from, bytes, stream) }
            "4.2" hipMemcpyFromSymbol(to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { copy_from_symbol(to, bytes, Stream::NULL) }
            "5.2" hipMemcpyFromSymbol_spt(to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { copy_from_symbol(to, bytes, Stream::PER_THREAD) }
            "4.2" hipMemcpyFromSymbolAsync(to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind, stream: Stream) -> Status { copy_from_symbol(to, bytes, stream) }
            "4.2" hipMemset(to: Ptr, value: c_int, bytes: usize) -> Status { write(to, bytes, Stream::NULL) }
            "5.2" hipMemset_spt(to: Ptr, value: c_int, bytes: usize) -> Status { write(to, bytes, Stream::PER_THREAD) }
            "4.2" hipMemsetAsync(to: Ptr, value: c_int, bytes: usize, stream: Stream) -> Status { write(to, bytes, stream) }
            "4.2" hipMemsetD8(to: Ptr, value: c_uchar, count: usize) -> Status { write(to, count, Stream::NULL) }
            "4.2" hipMemsetD8Async(to: Ptr, value: c_uchar, count: usize, stream: Stream) -> Status { write(to, count, stream) }
            "4.2" hipMemsetD16(to: Ptr, value: c_ushort, count: usize) -> Status { write(to, count.saturating_mul(2), Stream::NULL) }
            "4.2" hipMemsetD16Async(to: Ptr, value: c_ushort, count: usize, stream: Stream) -> Status { write(to, count.saturating_mul(2), stream) }
            "4.2" hipMemsetD32(to: Ptr, value: c_int, count: usize) -> Status { write(to, count.saturating_mul(4), Stream::NULL) }
            "4.2" hipMemsetD32Async(to: Ptr, value: c_int, count: usize, stream: Stream) -> Status { write(to, count.saturating_mul(4), stream) }
            "4.2" hipMemset2D(to: Ptr, pitch: usize, value: c_int, width: usize, height: usize) -> Status { write_2d(to, pitch, width, height, Stream::NULL) }
            "5.2" hipMemset2D_spt(to: Ptr, pitch: usize, value: c_int, width: usize, height: usize) -> Status { write_2d(to, pitch, width, height, Stream::PER_THREAD) }
            "4.2" hipMemset2DAsync(to: Ptr, pitch: usize, value: c_int, width: usize, height: usize, stream: Stream) -> Status { write_2d(to, pitch, width, height, stream) }
            "4.2" hipMemset3D(to: PitchedPtr, value: c_int, extent: Extent3) -> Status { write_3d(to, extent, Stream::NULL) }
            "5.2" hipMemset3D_spt(to: PitchedPtr, value: c_int, extent: Extent3) -> Status { write_3d(to, extent, Stream::PER_THREAD) }
            "4.2" hipMemset3DAsync(to: PitchedPtr, value: c_int, extent: Extent3, stream: Stream) -> Status { write_3d(to, extent, stream) }
            // Streams, events, devices.
            "4.2" hipStreamCreate(stream: *mut Stream) -> Status { create_stream(stream, 0) }
            "4.2" hipStreamCreateWithFlags(stream: *mut Stream, flags: c_uint) -> Status { create_stream(stream, flags) }
            "4.2" hipStreamCreateWithPriority(stream: *mut Stream, flags: c_uint, priority: c_int) -> Status { create_stream(stream, flags) }
            "4.2" hipExtStreamCreateWithCUMask(stream: *mut Stream, words: u32, mask: *const u32) -> Status { create_stream(stream, 0) }
            "4.2" hipStreamDestroy(stream: Stream) -> Status { destroy_stream(stream) }
            "4.2" hipStreamQuery(stream: Stream) -> Status { synchronise_stream(stream) }
            "5.2" hipStreamQuery_spt(stream: Stream) -> Status { synchronise_stream(stream.per_thread()) }
            "4.2" hipStreamSynchronize(stream: Stream) -> Status { synchronise_stream(stream) }
            "5.2" hipStreamSynchronize_spt(stream: Stream) -> Status { synchronise_stream(stream.per_thread()) }
            "4.2" hipStreamWaitEvent(stream: Stream, event: Event, flags: c_uint) -> Status { wait_event(stream, event) }
            "5.2" hipStreamWaitEvent_spt(stream: Stream, event: Event, flags: c_uint) -> Status { wait_event(stream.per_thread(), event) }
            "4.4" hipStreamWaitValue32(stream: Stream, address: Ptr, value: u32, flags: c_uint, mask: u32) -> Status { wait_value(stream) }
            "4.4" hipStreamWaitValue64(stream: Stream, address: Ptr, value: u64, flags: c_uint, mask: u64) -> Status { wait_value(stream) }
            "4.4" hipStreamWriteValue32(stream: Stream, address: Ptr, value: u32, flags: c_uint) -> Status { write(address, 4, stream) }
            "4.4" hipStreamWriteValue64(stream: Stream, address: Ptr, value: u64, flags: c_uint) -> Status { write(address, 8, stream) }
            "4.2" hipStreamAddCallback(stream: Stream, callback: StreamCallback, data: Ptr, flags: c_uint) -> Status { callback(stream) }
            "4.3" hipStreamBeginCapture(stream: Stream, mode: CaptureMode) -> Status { begin_capture(stream) }
            "4.3" hipStreamEndCapture(stream: Stream, graph: *mut Graph) -> Status { end_capture(stream, graph) }
            "4.2" hipEventCreate(event: *mut Event) -> Status { submit() }
            "4.2" hipEventCreateWithFlags(event: *mut Event, flags: c_uint) -> Status { submit() }
            "4.2" hipEventDestroy(event: Event) -> Status { destroy_event(event) }
            "4.2" hipEventRecord(event: Event, stream: Stream) -> Status { record_event(event, stream) }
            "4.2" hipEventQuery(event: Event) -> Status { synchronise_event(event) }
            "4.2" hipEventSynchronize(event: Event) -> Status { synchronise_event(event) }
            "4.2" hipEventElapsedTime(milliseconds: *mut f32, start: Event, stop: Event) -> Status { submit() }
            "4.2" hipDeviceSynchronize() -> Status { synchronise_device() }
            "4.2" hipCtxSynchronize() -> Status { synchronise_device() }
            "4.2" hipDeviceReset() -> Status { reset() }
            "4.2" hipDevicePrimaryCtxReset(device: c_int) -> Status { reset() }
            "4.2" hipDeviceEnablePeerAccess(device: c_int, flags: c_uint) -> Status { submit() }
            "4.2" hipDeviceDisablePeerAccess(device: c_int) -> Status { submit() }
        }
        called {
            "4.2" hipGetDevice(device: *mut c_int) -> Status;
            "4.2" hipSetDevice(device: c_int) -> Status;
            "4.2" hipGetDeviceCount(count: *mut c_int) -> Status;
            "4.3" hipStreamIsCapturing(stream: Stream, status: *mut c_int) -> Status;
            "5.0" hipThreadExchangeStreamCaptureMode(mode: *mut CaptureMode) -> Status;
            "4.2" hipGetDeviceProperties(properties: Ptr, device: c_int) -> Status;
            "4.2" hipGetErrorName(status: Status) -> *const c_char;
            "4.2" hipMemGetInfo(free: *mut usize, total: *mut usize) -> Status;
        }
        refused {
            "4.2" hipArray3DCreate;
            "4.2" hipArrayCreate;
            "4.3" hipArrayDestroy;
            "4.2" hipBindTexture;
            "4.2" hipBindTexture2D;
            "4.2" hipBindTextureToArray;
            "4.2" hipBindTextureToMipmappedArray;
            "4.2" hipCreateTextureObject;
            "4.3" hipDestroyExternalMemory;
            "4.3" hipDestroyExternalSemaphore;
            "4.2" hipDestroyTextureObject;
            "4.3" hipExternalMemoryGetMappedBuffer;
            "4.2" hipFreeArray;
            "4.2" hipFreeMipmappedArray;
            "4.2" hipGetMipmappedArrayLevel;
            "4.3" hipImportExternalMemory;
            "4.3" hipImportExternalSemaphore;
            "4.2" hipIpcGetEventHandle;
            "4.2" hipIpcOpenEventHandle;
            "4.2" hipMalloc3DArray;
            "4.2" hipMallocArray;
            "4.2" hipMallocMipmappedArray;
            "5.1" hipMemAddressFree;
            "5.1" hipMemAddressReserve;
            "5.1" hipMemCreate;
            "5.1" hipMemExportToShareableHandle;
            "5.1" hipMemImportFromShareableHandle;
            "5.1" hipMemMap;
            "5.1" hipMemMapArrayAsync;
            "5.1" hipMemRelease;
            "5.1" hipMemRetainAllocationHandle;
            "5.1" hipMemSetAccess;
            "5.1" hipMemUnmap;
            "5.1" hipMemPoolExportPointer;
            "5.1" hipMemPoolExportToShareableHandle;
            "5.1" hipMemPoolImportFromShareableHandle;
            "5.1" hipMemPoolImportPointer;
            "4.2" hipMemcpy2DFromArray;
            "4.2" hipMemcpy2DFromArrayAsync;
            "5.2" hipMemcpy2DFromArray_spt;
            "4.2" hipMemcpy2DToArray;
            "4.3" hipMemcpy2DToArrayAsync;
            "5.2" hipMemcpy2DToArray_spt;
            "4.2" hipMemcpyAtoH;
            "4.2" hipMemcpyFromArray;
            "4.2" hipMemcpyHtoA;
            "4.2" hipMemcpyToArray;
            "4.2" hipMipmappedArrayCreate;
            "4.2" hipMipmappedArrayDestroy;
            "4.2" hipMipmappedArrayGetLevel;
            "4.3" hipSignalExternalSemaphoresAsync;
            "4.3" hipWaitExternalSemaphoresAsync;
            "4.2" hipTexObjectCreate;
            "4.2" hipTexObjectDestroy;
            "4.2" hipTexRefSetAddress;
            "4.2" hipTexRefSetAddress2D;
            "4.2" hipTexRefSetArray;
            "4.2" hipTexRefSetMipmappedArray;
            "4.3" hipGraphicsGLRegisterBuffer;
            "4.5" hipGraphicsGLRegisterImage;
            "4.3" hipGraphicsMapResources;
            "4.3" hipGraphicsResourceGetMappedPointer;
            "4.5" hipGraphicsSubResourceGetMappedArray;
            "4.3" hipGraphicsUnmapResources;
            "4.3" hipGraphicsUnregisterResource;
            "4.3" hipGLGetDevices;
            "4.2" _Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc;
            "4.2" _Z23hipDestroySurfaceObjectP13__hip_surface;
        }
        pure {
            "4.2" __hipGetPCH;
            "4.2" __hipPopCallConfiguration;
            "4.2" __hipPushCallConfiguration;
            "4.2" __hipRegisterSurface;
            "4.2" __hipRegisterTexture;
            "4.2" __hipRegisterVar;
            "4.2" hipApiName;
            "4.2" hipChooseDevice;
            "4.2" hipConfigureCall;
            "4.2" hipCreateChannelDesc;
            "4.2" hipCtxCreate;
            "4.2" hipCtxDestroy;
            "4.2" hipCtxDisablePeerAccess;
            "4.2" hipCtxEnablePeerAccess;
            "4.2" hipCtxGetApiVersion;
            "4.2" hipCtxGetCacheConfig;
            "4.2" hipCtxGetCurrent;
            "4.2" hipCtxGetDevice;
            "4.2" hipCtxGetFlags;
            "4.2" hipCtxGetSharedMemConfig;
            "4.2" hipCtxPopCurrent;
            "4.2" hipCtxPushCurrent;
            "4.2" hipCtxSetCacheConfig;
            "4.2" hipCtxSetCurrent;
            "4.2" hipCtxSetSharedMemConfig;
            "4.2" hipDeviceCanAccessPeer;
            "4.2" hipDeviceComputeCapability;
            "4.2" hipDeviceGet;
            "4.2" hipDeviceGetAttribute;
            "4.2" hipDeviceGetByPCIBusId;
            "4.2" hipDeviceGetCacheConfig;
            "5.1" hipDeviceGetDefaultMemPool;
            "4.2" hipDeviceGetLimit;
            "5.1" hipDeviceGetMemPool;
            "4.2" hipDeviceGetName;
            "4.2" hipDeviceGetP2PAttribute;
            "4.2" hipDeviceGetPCIBusId;
            "4.2" hipDeviceGetSharedMemConfig;
            "4.2" hipDeviceGetStreamPriorityRange;
            "5.1" hipDeviceGetUuid;
            "4.2" hipDevicePrimaryCtxGetState;
            "4.2" hipDevicePrimaryCtxRelease;
            "4.2" hipDevicePrimaryCtxRetain;
            "4.2" hipDevicePrimaryCtxSetFlags;
            "4.2" hipDeviceSetCacheConfig;
            "4.2" hipDeviceSetSharedMemConfig;
            "4.2" hipDeviceTotalMem;
            "4.2" hipDriverGetVersion;
            "5.0" hipDrvPointerGetAttributes;
            "4.2" hipEnableActivityCallback;
            "4.2" hipExtGetLinkTypeAndHopCount;
            "4.2" hipExtStreamGetCUMask;
            "4.2" hipFuncGetAttribute;
            "4.2" hipGetChannelDesc;
            "4.2" hipGetCmdName;
            "4.2" hipGetDeviceFlags;
            "4.2" hipGetErrorString;
            "4.2" hipGetLastError;
            "4.2" hipGetStreamDeviceId;
            "4.2" hipGetTextureAlignmentOffset;
            "4.2" hipGetTextureObjectResourceDesc;
            "4.2" hipGetTextureObjectResourceViewDesc;
            "4.2" hipGetTextureObjectTextureDesc;
            "4.2" hipGetTextureReference;
            "4.4" hipGraphAddDependencies;
            "4.4" hipGraphAddEmptyNode;
            "4.5" hipGraphAddEventRecordNode;
            "4.5" hipGraphAddEventWaitNode;
            "4.5" hipGraphChildGraphNodeGetGraph;
            "4.5" hipGraphClone;
            "4.3" hipGraphCreate;
            "4.5" hipGraphDestroyNode;
            "4.5" hipGraphEventRecordNodeGetEvent;
            "4.5" hipGraphEventRecordNodeSetEvent;
            "4.5" hipGraphEventWaitNodeGetEvent;
            "4.5" hipGraphEventWaitNodeSetEvent;
            "4.5" hipGraphExecEventRecordNodeSetEvent;
            "4.5" hipGraphExecEventWaitNodeSetEvent;
            "4.5" hipGraphGetEdges;
            "4.4" hipGraphGetNodes;
            "4.4" hipGraphGetRootNodes;
            "4.5" hipGraphHostNodeGetParams;
            "4.4" hipGraphMemcpyNodeGetParams;
            "4.4" hipGraphMemsetNodeGetParams;
            "4.5" hipGraphNodeFindInClone;
            "4.5" hipGraphNodeGetDependencies;
            "4.5" hipGraphNodeGetDependentNodes;
            "4.5" hipGraphNodeGetType;
            "4.5" hipGraphRemoveDependencies;
            "4.2" hipHostGetDevicePointer;
            "4.2" hipHostGetFlags;
            "4.2" hipInit;
            "4.2" hipInitActivityCallback;
            "4.2" hipKernelNameRef;
            "4.2" hipKernelNameRefByPtr;
            "5.1" hipMemGetAccess;
            "4.2" hipMemGetAddressRange;
            "5.1" hipMemGetAllocationGranularity;
            "5.1" hipMemGetAllocationPropertiesFromHandle;
            "5.1" hipMemPoolGetAccess;
            "5.1" hipMemPoolGetAttribute;
            "4.2" hipMemPtrGetInfo;
            "4.2" hipMemRangeGetAttribute;
            "4.2" hipMemRangeGetAttributes;
            "4.2" hipModuleGetTexRef;
            "4.2" hipModuleOccupancyMaxActiveBlocksPerMultiprocessor;
            "4.2" hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags;
            "4.2" hipModuleOccupancyMaxPotentialBlockSize;
            "4.2" hipModuleOccupancyMaxPotentialBlockSizeWithFlags;
            "4.2" hipPeekAtLastError;
            "5.0" hipPointerGetAttribute;
            "4.2" hipPointerGetAttributes;
            "4.2" hipProfilerStart;
            "4.2" hipProfilerStop;
            "4.2" hipRegisterActivityCallback;
            "4.2" hipRegisterApiCallback;
            "4.2" hipRemoveActivityCallback;
            "4.2" hipRemoveApiCallback;
            "4.2" hipRuntimeGetVersion;
            "4.2" hipSetDeviceFlags;
            "4.2" hipSetupArgument;
            "4.5" hipStreamGetCaptureInfo;
            "4.5" hipStreamGetCaptureInfo_v2;
            "4.2" hipStreamGetFlags;
            "5.2" hipStreamGetFlags_spt;
            "4.2" hipStreamGetPriority;
            "5.2" hipStreamGetPriority_spt;
            "4.5" hipStreamUpdateCaptureDependencies;
            "4.2" hipTexObjectGetResourceDesc;
            "4.2" hipTexObjectGetResourceViewDesc;
            "4.2" hipTexObjectGetTextureDesc;
            "4.2" hipTexRefGetAddress;
            "4.2" hipTexRefGetAddressMode;
            "4.2" hipTexRefGetFilterMode;
            "4.2" hipTexRefGetFlags;
            "4.2" hipTexRefGetFormat;
            "4.2" hipTexRefGetMaxAnisotropy;
            "4.2" hipTexRefGetMipmapFilterMode;
            "4.2" hipTexRefGetMipmapLevelBias;
            "4.2" hipTexRefGetMipmapLevelClamp;
            "4.2" hipTexRefSetAddressMode;
            "4.2" hipTexRefSetBorderColor;
            "4.2" hipTexRefSetFilterMode;
            "4.2" hipTexRefSetFlags;
            "4.2" hipTexRefSetFormat;
            "4.2" hipTexRefSetMaxAnisotropy;
            "4.2" hipTexRefSetMipmapFilterMode;
            "4.2" hipTexRefSetMipmapLevelBias;
            "4.2" hipTexRefSetMipmapLevelClamp;
            "4.2" hipUnbindTexture;
            "4.2" hiprtcAddNameExpression;
            "4.2" hiprtcCreateProgram;
            "4.2" hiprtcDestroyProgram;
            "4.2" hiprtcGetCode;
            "4.2" hiprtcGetCodeSize;
            "4.2" hiprtcGetErrorString;
            "4.2" hiprtcGetLoweredName;
            "4.2" hiprtcGetProgramLog;
            "4.2" hiprtcGetProgramLogSize;
            "4.2" hiprtcVersion;
        }
    } };
}
