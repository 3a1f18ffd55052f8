/** Declared once, as an app does. */
export type Topics = { "order-timeout": { orderId: string }; refund: { refundId: string } };
